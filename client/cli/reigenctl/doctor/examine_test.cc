#include "client/cli/reigenctl/doctor/examine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "client/cli/reigenctl/doctor/testing/hosts_of_tests.h"

namespace reigen::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(ExamineTest, AHostWithoutRdmaAndGpuIsFineAndSaysWhatFollows) {
  const Report report = Examine(PlainHost(), PlainWishes());
  EXPECT_EQ(report.host, "anna");
  EXPECT_EQ(report.transport, "tcp");
  EXPECT_THAT(report.addresses, ElementsAre("10.0.0.1"));
  EXPECT_THAT(SubjectsOf(report, Level::kProblem), IsEmpty());
  EXPECT_THAT(SubjectsOf(report, Level::kNote), ElementsAre("rdma/devices", "gpu/driver"));
  EXPECT_THAT(FindFinding(report, "rdma", "devices")->text, HasSubstr("links use TCP"));
  EXPECT_THAT(FindFinding(report, "gpu", "driver")->text, HasSubstr("host memory"));
}

TEST(ExamineTest, AHostWithEverythingIsFine) {
  const Report report = Examine(GpuHost(), PlainWishes());
  EXPECT_THAT(SubjectsOf(report, Level::kProblem), IsEmpty());
  EXPECT_THAT(SubjectsOf(report, Level::kNote), IsEmpty());
  EXPECT_EQ(report.transport, "rdma");
  EXPECT_EQ(report.rdma_mtu_bytes, 4096u);
}

struct Case {
  const char* name;
  std::function<void(probe::HostFacts&, Wishes&)> change;
  Level level;
  const char* area;
  const char* subject;
  const char* text;
  const char* remedy;  // part of it; "": none
};

TEST(ExamineTest, WhatIsWrongWithTheSystemHasItsRemedy) {
  const Case kCases[] = {
      {"memfd", [](auto& f, auto&) { f.system.memfd_error = "memfd_create: Operation not permitted"; },
       Level::kProblem, "system", "shared memory", "Operation not permitted", "seccomp"},
      {"pidfd", [](auto& f, auto&) { f.system.pidfd_error = "pidfd_open: not implemented"; },
       Level::kProblem, "system", "processes", "not implemented", "Linux 5.3"},
      {"yama", [](auto& f, auto&) {
         f.system.read_child_error = "process_vm_readv: Operation not permitted";
         f.system.ptrace_scope = 3;
       },
       Level::kNote, "system", "process_vm_readv", "(ptrace_scope 3)", ""},
      {"yama lets a parent", [](auto& f, auto&) { f.system.ptrace_scope = 1; }, Level::kOk,
       "system", "process_vm_readv", "may read its trainers' memory (ptrace_scope 1)", ""},
      {"read-only", [](auto& f, auto&) { f.system.runtime_folder.error = "Read-only file system"; },
       Level::kProblem, "system", "runtime folder", "/tmp: Read-only file system",
       "REIGEN_RUNTIME_DIR"},
      {"full", [](auto& f, auto&) { f.system.runtime_folder.free_bytes = 4096; },
       Level::kProblem, "system", "runtime folder", "only 4 KiB are free", "make room"},
      {"few files", [](auto& f, auto&) { f.system.open_files = 64; }, Level::kProblem, "system",
       "open files", "only 64", "ulimit -n 1024"},
      {"some files", [](auto& f, auto&) { f.system.open_files = 512; }, Level::kNote, "system",
       "open files", "only 512", "ulimit -n 1024"},
      {"hard limit", [](auto& f, auto&) {
         f.system.open_files = 64;
         f.system.open_files_most = 128;
       },
       Level::kProblem, "system", "open files", "only 64", "limits.d (here it may be 128 at most)"},
  };
  for (const Case& c : kCases) {
    probe::HostFacts facts = PlainHost();
    Wishes wishes = PlainWishes();
    c.change(facts, wishes);
    const Report report = Examine(facts, wishes);
    const Finding* finding = FindFinding(report, c.area, c.subject);
    ASSERT_NE(finding, nullptr) << c.name;
    EXPECT_EQ(finding->level, c.level) << c.name;
    EXPECT_THAT(finding->text, HasSubstr(c.text)) << c.name;
    EXPECT_THAT(finding->remedy, HasSubstr(c.remedy)) << c.name;
    EXPECT_EQ(finding->remedy.empty(), *c.remedy == '\0') << c.name;
  }
}

TEST(ExamineTest, EachInterfaceSaysWhetherItIsUsed) {
  probe::HostFacts facts = PlainHost();
  facts.network.interfaces.push_back(
      {.name = "docker0", .state = "up", .mbits_per_s = {}, .mtu_bytes = 1500, .driver = ""});
  facts.network.interfaces.push_back(
      {.name = "eth1", .state = "down", .mbits_per_s = {}, .mtu_bytes = 1500, .driver = ""});
  facts.network.addresses.push_back({.interface = "docker0", .address = "172.17.0.1"});
  const Report report = Examine(facts, PlainWishes());
  EXPECT_EQ(FindFinding(report, "network", "eth0")->text,
            "up, 100 Gbit/s, MTU 9000, 10.0.0.1: between hosts");
  EXPECT_THAT(FindFinding(report, "network", "docker0")->text, HasSubstr("172.17.0.1: not used"));
  EXPECT_THAT(FindFinding(report, "network", "eth1")->text, HasSubstr("without an address"));
  EXPECT_THAT(FindFinding(report, "network", "lo")->text, HasSubstr("inside this host"));
  EXPECT_THAT(FindFinding(report, "network", "between hosts")->text,
              HasSubstr("not: lo 127.0.0.1, docker0 172.17.0.1"));
}

TEST(ExamineTest, ACardWithAnAddressAndNoCarrierIsNoted) {
  probe::HostFacts facts = PlainHost();
  facts.network.interfaces[0].state = "down";
  EXPECT_EQ(FindFinding(Examine(facts, PlainWishes()), "network", "eth0")->level, Level::kNote);
}

TEST(ExamineTest, AHostWithLoopbackAloneStillRunsItsOwnJobs) {
  probe::HostFacts facts = PlainHost();
  facts.network.addresses.erase(facts.network.addresses.begin());
  const Report report = Examine(facts, PlainWishes());
  const Finding* finding = FindFinding(report, "network", "between hosts");
  EXPECT_EQ(finding->level, Level::kNote);
  EXPECT_THAT(finding->text, HasSubstr("jobs on this host alone run"));
}

TEST(ExamineTest, ANetworkThatWasAskedForAndIsNotHereIsAProblem) {
  Wishes wishes = PlainWishes();
  wishes.networks = {"10.9.0.0/16", "ib0"};
  const Report report = Examine(PlainHost(), wishes);
  const Finding* finding = FindFinding(report, "network", "between hosts");
  EXPECT_EQ(finding->level, Level::kProblem);
  EXPECT_THAT(finding->text, HasSubstr("host anna: no interface matches 10.9.0.0/16, ib0"));
  EXPECT_THAT(finding->remedy, Not(IsEmpty()));
}

TEST(CompareTest, EqualHostsNeedNoWords) {
  const Report report = Examine(GpuHost(), PlainWishes());
  EXPECT_THAT(Compare({report, report}, PlainWishes()), IsEmpty());
  EXPECT_THAT(Compare({report, Report{}}, PlainWishes()), IsEmpty());  // one that did not answer
}

TEST(CompareTest, DifferencesAreToldWithTheHosts) {
  Report anna = Examine(GpuHost(), PlainWishes());
  Report bert = Examine(PlainHost(), PlainWishes());
  bert.host = "bert";
  Report carl = anna;
  carl.host = "carl";
  carl.version = "9.9.9";
  carl.rdma_mtu_bytes = 1024;
  const std::vector<Finding> findings = Compare({anna, bert, carl}, PlainWishes());
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].level, Level::kProblem);
  EXPECT_THAT(findings[0].text, HasSubstr("on anna, bert; 9.9.9 on carl"));
  EXPECT_EQ(findings[1].level, Level::kNote);
  EXPECT_THAT(findings[1].text, HasSubstr("rdma on anna, carl; tcp on bert"));
  EXPECT_THAT(findings[2].text, HasSubstr("1024 on carl; 4096 on anna"));
}

Report WithKinds(const std::string& host, const std::vector<std::string>& kinds) {
  Report report;
  report.host = host;
  report.transport = "rdma";
  report.rdma_kinds = kinds;
  return report;
}

TEST(CompareTest, HostsWhosePortsCannotTalkAreAProblemWithARemedy) {
  const std::vector<Report> reports = {
      WithKinds("anna", {"InfiniBand"}), WithKinds("bert", {"RoCE v2 over IPv4"}),
      WithKinds("carl", {"InfiniBand"}), WithKinds("dora", {"InfiniBand", "RoCE v2 over IPv4"}),
      WithKinds("emil", {})};
  Wishes wishes = PlainWishes();
  for (const bool needed : {false, true}) {
    if (needed) wishes.transport = "rdma";
    const std::vector<Finding> findings = Compare(reports, wishes);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].level, Level::kProblem);
    EXPECT_EQ(findings[0].text,
              std::string("InfiniBand on anna, carl; RoCE v2 over IPv4 on bert: they cannot talk to "
                          "each other; ") +
                  (needed ? "a job that asks for RDMA cannot link them"
                          : "links between them use TCP"));
    EXPECT_THAT(findings[0].remedy, HasSubstr("--rdma-devices"));
  }
}

TEST(CompareTest, HostsOfDifferentPartitionsAreAProblemWithARemedy) {
  const std::string full = "InfiniBand with PKey 0x8001", limited = "InfiniBand with PKey 0x0001";
  const std::vector<Finding> findings =
      Compare({WithKinds("anna", {full}), WithKinds("bert", {limited}),
               WithKinds("carl", {limited}), WithKinds("dora", {"InfiniBand with PKey 0xffff"})},
              PlainWishes());
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].text, limited + " on bert, carl: they cannot talk to each other; links "
                                        "between them use TCP");
  EXPECT_THAT(findings[1].text, HasSubstr(limited + " on bert, carl; InfiniBand with PKey 0xffff"));
  EXPECT_THAT(findings[2].text, HasSubstr(full + " on anna; InfiniBand with PKey 0xffff on dora"));
  for (const Finding& finding : findings) EXPECT_THAT(finding.remedy, HasSubstr("REIGEN_RDMA_PKEY"));
}

TEST(CompareTest, AHostThatJobsAreRefusedOnIsNotSaidToUseTcp) {
  Report anna = WithKinds("anna", {"InfiniBand"});
  Report bert = anna;
  bert.host = "bert";
  bert.transport = "none";
  EXPECT_THAT(Compare({anna, bert}, PlainWishes()), IsEmpty());
}

}  // namespace
}  // namespace reigen::ctl
