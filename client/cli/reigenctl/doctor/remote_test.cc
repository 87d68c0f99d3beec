#include "client/cli/reigenctl/doctor/remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <charconv>

#include "runtime/base/clock.h"

namespace reigen::ctl {
namespace {

using testing::HasSubstr;

constexpr char kAnswer[] =
    "{\"hosts\": [{\"host\": \"its own name\", \"version\": \"0.1.0\", \"findings\": "
    "[{\"level\": \"note\", \"area\": \"rdma\", \"subject\": \"devices\", \"text\": \"none\"}]}]}";

TEST(RemoteTest, AnAnswerIsThatHostsReportByTheNameItWasAskedBy) {
  const HostAnswer answer = ReadAnswer({"bert", {}}, "exit 0", kAnswer, "");
  EXPECT_EQ(answer.report.host, "bert");
  EXPECT_EQ(answer.report.findings.size(), 1u);
  EXPECT_EQ(answer.json["host"], "bert");
}

TEST(RemoteTest, WhatALoginShellSaysBeforeIsPassedOver) {
  const HostAnswer answer =
      ReadAnswer({"bert", {}}, "exit 0", std::string("Welcome!\n") + kAnswer, "motd");
  EXPECT_EQ(answer.report.version, "0.1.0");
}

TEST(RemoteTest, AnythingElseIsAProblemWithARemedy) {
  for (const char* output : {"", "{", "{\"hosts\": []}", "{\"hosts\": [{}]}", "hello", "{}{}"}) {
    const HostAnswer answer = ReadAnswer({"bert", {}}, "exit 255", output, "no route\n");
    ASSERT_EQ(answer.report.findings.size(), 1u) << output;
    EXPECT_EQ(answer.report.findings[0].level, Level::kProblem);
    EXPECT_EQ(answer.report.findings[0].text, "exit 255: no route");
    EXPECT_THAT(answer.report.findings[0].remedy, HasSubstr("ssh bert true"));
    EXPECT_EQ(answer.json["verdict"], "problem");
  }
  EXPECT_THAT(ReadAnswer({"bert", {}}, "exit 0", "hello", "").report.findings[0].text,
              HasSubstr("is no report"));
}

TEST(RemoteTest, HostsAreAskedAtOnceAndAnswerInOrder) {
  const std::string print = std::string("printf '%s' '") + kAnswer + "'";
  const auto answers = AskHosts({{"a", {"sh", "-c", print}},
                                 {"b", {"sh", "-c", "echo broken >&2; exit 3"}},
                                 {"c", {"no-such-program-anywhere"}}},
                                Now() + seconds(30));
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].report.version, "0.1.0");
  EXPECT_EQ(answers[1].report.findings[0].text, "exit 3: broken");
  EXPECT_THAT(answers[2].report.findings[0].text, HasSubstr("no program no-such-program-anywhere"));
}

// As ssh's master (ControlPersist) does: it stays, with what it inherited. The test runs into its
// limit if its end is waited for.
TEST(RemoteTest, WhatACommandLeavesInTheBackgroundIsNotWaitedFor) {
  const std::string stay = "sleep 1000 & ";
  const std::string answer = "printf '{\"hosts\": [{\"version\": \"%s\", \"findings\": []}]}' $!";
  const auto answers = AskHosts({{"a", {"sh", "-c", stay + answer}},
                                 {"b", {"sh", "-c", stay + "echo no route $! >&2; exit 255"}}},
                                Now() + seconds(900));
  const std::string said = answers[1].report.findings[0].text;
  EXPECT_THAT(said, HasSubstr("exit 255: no route "));
  for (const std::string& text : {answers[0].report.version, said.substr(said.rfind(' ') + 1)}) {
    pid_t pid = 0;
    std::from_chars(text.data(), text.data() + text.size(), pid);
    ASSERT_GT(pid, 0) << text;
    EXPECT_EQ(kill(pid, SIGKILL), 0) << "it stays";
  }
}

// More than a pipe holds.
TEST(RemoteTest, ALongAnswerIsReadToItsEnd) {
  const std::string pad = "head -c 3000000 /dev/zero | tr '\\0' ' '; ";
  const auto answers =
      AskHosts({{"a", {"sh", "-c", "sleep 1000 & " + pad + "printf '%s' '" + kAnswer + "'; kill $!"}}},
               Now() + seconds(900));
  EXPECT_EQ(answers[0].report.version, "0.1.0");
}

TEST(RemoteTest, AHostThatDoesNotAnswerIsNamedAtTheDeadline) {
  const auto answers = AskHosts({{"slow", {"sh", "-c", "exec sleep 600"}},
                                 {"shut", {"sh", "-c", "exec >&- 2>&-; exec sleep 600"}}},
                                Now() + milliseconds(200));
  EXPECT_EQ(answers[0].report.findings[0].text, "no answer in time");
  EXPECT_EQ(answers[1].report.findings[0].text, "no answer in time");
}

}  // namespace
}  // namespace reigen::ctl
