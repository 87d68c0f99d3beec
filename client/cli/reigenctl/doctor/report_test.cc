#include "client/cli/reigenctl/doctor/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/reigenctl/doctor/facts_json.h"
#include "client/cli/reigenctl/doctor/testing/hosts_of_tests.h"
#include "runtime/base/status.h"

namespace reigen::ctl {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

Report Sample() {
  Report report;
  report.host = "anna";
  report.version = "0.1.0";
  report.findings = {{Level::kOk, "system", "kernel", "Linux", ""},
                     {Level::kNote, "rdma", "mlx5_0:1", "ACTIVE, MTU 1024", "mtu 9000"},
                     {Level::kProblem, "rdma", "locked memory", "limited to 64 KiB", "raise it"}};
  report.transport = "tcp";
  report.addresses = {"10.0.0.1"};
  report.rdma_ports = {"mlx5_0:1 gid 3"};
  report.rdma_kinds = {"RoCE v2 over IPv4"};
  report.rdma_mtu_bytes = 1024;
  return report;
}

TEST(ReportTest, TextIsAlignedAndNamesRemedies) {
  EXPECT_EQ(ReportText(Sample()),
            "anna: Reigen 0.1.0, 1 problem\n"
            "  system\n"
            "    ok      kernel         Linux\n"
            "  rdma\n"
            "    note    mlx5_0:1       ACTIVE, MTU 1024\n"
            "                           better: mtu 9000\n"
            "    PROBLEM locked memory  limited to 64 KiB\n"
            "                           remedy: raise it\n");
}

TEST(ReportTest, JsonHasTheDocumentedKeysAndIsReadAgain) {
  const Json json = ReportJson(Sample(), FactsJson(GpuHost()));
  for (const char* key : {"host", "version", "verdict", "findings", "transport", "addresses",
                          "rdma_ports", "rdma_kinds", "rdma_mtu_bytes", "gpu_rdma", "facts"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["verdict"], "problem");
  EXPECT_FALSE(json["findings"][0].contains("remedy"));
  EXPECT_EQ(json["findings"][2]["remedy"], "raise it");
  EXPECT_EQ(json["facts"]["rdma"]["devices"][0]["ports"][0]["gids"][3]["type"], "RoCE v2");
  EXPECT_EQ(json["facts"]["cuda"]["gpus"][0]["name"], "H100");
  EXPECT_EQ(json["facts"]["rdma"]["locked_bytes"], nullptr);
  const auto again = ParseReport(Json::parse(json.dump()));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(ReportText(*again), ReportText(Sample()));
  EXPECT_EQ(again->rdma_mtu_bytes, 1024u);
  EXPECT_EQ(again->transport, "tcp");
  EXPECT_EQ(again->rdma_kinds, Sample().rdma_kinds);
}

TEST(ReportTest, WhatIsNoReportIsRefused) {
  for (const char* text :
       {"[]", "{}", "{\"findings\": 3}", "{\"findings\": [3]}", "{\"findings\": [{}]}",
        "{\"findings\": [{\"level\": \"grave\"}]}", "{\"findings\": [{\"level\": 2}]}", "null"}) {
    EXPECT_FALSE(ParseReport(Json::parse(text)).ok()) << text;
  }
  const auto odd = ParseReport(Json::parse(
      "{\"host\": 3, \"rdma_mtu_bytes\": -1, \"addresses\": [1, \"a\"], \"findings\": "
      "[{\"level\": \"ok\", \"text\": []}]}"));
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->host, "");
  EXPECT_EQ(odd->rdma_mtu_bytes, 0u);
  EXPECT_THAT(odd->addresses, testing::ElementsAre("a"));
}

TEST(ReportTest, AnotherHostsWordsDoNotDriveTheTerminal) {
  Report report = Sample();
  report.findings[0].text = "a\x1b[2Jb\nc";
  EXPECT_THAT(ReportText(report), HasSubstr("a [2Jb c"));
  EXPECT_THAT(ReportText(report), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace reigen::ctl
