// The real program against a real coordinator with one worker by script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "coordinator/testing/coordinator_child.h"
#include "coordinator/testing/fake_worker.h"
#include "runtime/base/runtime_folder.h"

namespace reigen::ctl {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Result {
  int code = -1;
  std::string output;  // both streams
};

Result Reigenctl(const std::string& arguments, const std::string& environment = "") {
  Result result;
  const std::string command =
      environment + " client/cli/reigenctl/reigenctl " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");  // NOLINT: the words are this test's own
  std::array<char, 4096> bytes;
  while (const size_t n = fread(bytes.data(), 1, bytes.size(), pipe)) {
    result.output.append(bytes.data(), n);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  return result;
}

class ReigenctlTest : public testing::Test {
 protected:
  ReigenctlTest() : base_(std::getenv("TEST_TMPDIR")) {
    setenv("REIGEN_RUNTIME_DIR", base_.c_str(), 1);
  }
  std::string base_;
};

TEST_F(ReigenctlTest, WithoutAJobItSaysSo) {
  const Result result = Reigenctl("status");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.output, HasSubstr("no job of yours is running"));
}

TEST_F(ReigenctlTest, ARunningJobIsShown) {
  const std::string secret(32, 's');
  coordinator::CoordinatorChild child("coordinator/reigen-coordinator");
  launch::ToCoordinator message;
  launch::CoordinatorStart& start = *message.mutable_start();
  start.set_job("shown");
  start.set_secret(secret);
  start.add_listen_addresses("127.0.0.1");
  start.set_folder(RuntimeFolderPath(base_, "shown-c"));
  start.add_hosts()->set_name("a");
  start.mutable_hosts(0)->add_ranks(0);
  start.mutable_hosts(0)->add_ranks(1);
  child.Tell(message);
  const auto listening = child.Receive();
  ASSERT_TRUE(listening && listening->has_listening());

  Result result = Reigenctl("status");
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("job shown: starting: waiting for the worker of host 0 (a)"));

  coordinator::FakeWorker worker(listening->listening().addresses(0), 0);
  ASSERT_TRUE(worker.Prove(secret)->has_welcome());
  control::WorkerMessage attached, init;
  attached.mutable_attached()->set_pid(1);
  worker.Send(attached);
  init.mutable_init()->add_ranks(1);
  worker.Send(init);
  for (int i = 0; i < 100 && result.output.find("call init") == std::string::npos; ++i) {
    result = Reigenctl("status --json --job shown");
  }
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["jobs"][0]["state"], "waiting for rank 0 to call init (not called there)");
  EXPECT_EQ(json["jobs"][0]["awaited"][0]["missing_ranks"][0], 0);

  EXPECT_EQ(Reigenctl("status --job other").code, 1);
  child.CloseInput();
  worker.Die();
  EXPECT_EQ(child.WaitForExit(), 0);
  EXPECT_EQ(Reigenctl("status").code, 1);
}

TEST_F(ReigenctlTest, DoctorLooksAtThisHostAndItsGpus) {
  const std::string fake = "REIGEN_RUNTIME_DIR=/tmp LD_LIBRARY_PATH=client/cuda/testing";
  Result result = Reigenctl("doctor", fake);
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("no problem"));
  EXPECT_THAT(result.output, HasSubstr("Fake GPU 1, 80 GiB, sm_90"));
  EXPECT_THAT(result.output, HasSubstr("reaches GPU 0"));
  result = Reigenctl("doctor --json", fake);
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["problems"], 0);
  EXPECT_EQ(json["hosts"][0]["facts"]["cuda"]["gpus"].size(), 2u);
}

TEST_F(ReigenctlTest, DoctorFailsWhereSomethingIsBroken) {
  const Result result = Reigenctl("doctor", "REIGEN_RUNTIME_DIR=/nonexistent");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.output, HasSubstr("PROBLEM runtime folder"));
  EXPECT_THAT(result.output, HasSubstr("remedy: make room there"));
  EXPECT_EQ(Reigenctl("doctor --hosts a:b:c").code, 2);
  for (const std::string variable :
       {"REIGEN_RDMA_MTU=big", "REIGEN_RDMA_QUEUES=99", "REIGEN_RDMA_TRAFFIC_CLASS=x"}) {
    const Result wrong = Reigenctl("doctor", variable);
    EXPECT_EQ(wrong.code, 1) << variable;
    EXPECT_THAT(wrong.output, HasSubstr(variable.substr(0, variable.find('='))));
  }
}

TEST_F(ReigenctlTest, DoctorKnowsThatGpuDirectIsRequired) {
  const std::string fake = "REIGEN_RUNTIME_DIR=/tmp LD_LIBRARY_PATH=client/cuda/testing ";
  for (const auto& [words, environment] :
       {std::pair("--gpu-direct require", ""), std::pair("", "REIGEN_GPU_DIRECT=require")}) {
    const Result result =
        Reigenctl(std::string("doctor --transport tcp ") + words, fake + environment);
    EXPECT_EQ(result.code, 1) << words << result.output;
    EXPECT_THAT(result.output, HasSubstr("for --gpu-direct is require"));
  }
  const Result none = Reigenctl("doctor --gpu-direct require", "REIGEN_RUNTIME_DIR=/tmp");
  EXPECT_EQ(none.code, 1) << none.output;
  EXPECT_THAT(none.output, HasSubstr("PROBLEM driver"));
  const Result flag = Reigenctl("doctor --transport tcp --gpu-direct off",
                                fake + "REIGEN_GPU_DIRECT=require");
  EXPECT_EQ(flag.code, 0) << flag.output;
  const Result wrong = Reigenctl("doctor", fake + "REIGEN_GPU_DIRECT=of");
  EXPECT_EQ(wrong.code, 2) << wrong.output;
  EXPECT_THAT(wrong.output, HasSubstr("REIGEN_GPU_DIRECT: \"of\" is none of"));
}

// As a job takes them along, where that host has none of its own.
TEST_F(ReigenctlTest, DoctorTellsOtherHostsTheVariablesOfHere) {
  const auto ask = [](const std::string& of_host) {
    return Reigenctl("doctor -H bert --rsh 'env -u REIGEN_RDMA_MTU " + of_host + " {command}'",
                     "REIGEN_RDMA_MTU='big $(reboot) it'\"'\"'s'");
  };
  Result result = ask("");
  EXPECT_EQ(result.code, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("REIGEN_RDMA_MTU: \"big $(reboot) it's\" is not a number"));
  EXPECT_THAT(result.output, HasSubstr("a job with this wish is refused"));
  result = ask("REIGEN_RDMA_MTU=1024");
  EXPECT_THAT(result.output, Not(HasSubstr("REIGEN_RDMA_MTU")));
}

TEST_F(ReigenctlTest, HelpListsWhatWorks) {
  const Result result = Reigenctl("--help");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.output, HasSubstr("status"));
  EXPECT_THAT(result.output, HasSubstr("doctor"));
}

TEST_F(ReigenctlTest, AMistakeIsOneLineAndCodeTwo) {
  for (const auto& [words, line] :
       {std::pair("", "reigenctl: no command: reigenctl status or reigenctl doctor\n"),
        std::pair("dance", "reigenctl: The following argument was not expected: dance\n"),
        std::pair("doctor --transport nope",
                  "reigenctl: --transport: nope not in {auto,tcp,rdma}\n"),
        std::pair("doctor --hostfile f -H a", "reigenctl: --hosts excludes --hostfile\n"),
        std::pair("doctor -H ''", "reigenctl: --hosts: its value is empty\n")}) {
    const Result result = Reigenctl(words);
    EXPECT_EQ(result.code, 2) << words;
    EXPECT_EQ(result.output, line);
  }
}

}  // namespace
}  // namespace reigen::ctl
