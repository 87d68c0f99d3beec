// A real guard over a stub worker and trainers that are shell scripts: every way
// to end must leave no process and no folder behind, and lose no output.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/launch/launch.pb.h"
#include "runtime/base/child_process.h"
#include "runtime/base/clock.h"
#include "runtime/base/frame_io.h"
#include "runtime/base/process_tree.h"
#include "runtime/base/unique_fd.h"
#include "runtime/base/version.h"

namespace reigen::worker {
namespace {

constexpr char kStub[] = "worker/guard/testing/stub_worker";

class GuardProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // what a guard leaves would come here
    std::string pattern = testing::TempDir() + "/guardXXXXXX";
    base_ = mkdtemp(pattern.data());
  }

  launch::GuardStart StartOf(const std::string& script, int ranks = 2) {
    launch::GuardStart start;
    start.set_job("job1");
    start.set_version(kVersion);
    start.set_size(ranks);
    start.set_working_directory("/");
    start.mutable_host()->set_name("hosty");
    for (int i = 0; i < ranks; ++i) {
      start.mutable_host()->add_ranks(i);
      start.add_cross_ranks(0);
      start.add_cross_sizes(1);
    }
    for (const char* word : {"sh", "-c", script.c_str()}) start.add_argv(word);
    start.add_environment("PATH=/usr/bin:/bin");
    start.add_environment("REIGEN_RUNTIME_DIR=" + base_);
    start.mutable_options()->set_grace_seconds(1);
    start.mutable_options()->set_dead_after_seconds(2);
    return start;
  }

  void Launch(const launch::GuardStart& start, std::vector<std::string> environment = {}) {
    int in[2], out[2];
    ASSERT_EQ(pipe2(in, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(out, O_CLOEXEC), 0);
    UniqueFd guard_in(in[0]), guard_out(out[1]);
    to_guard_.Reset(in[1]);
    from_guard_.Reset(out[0]);
    reader_.emplace(from_guard_.get());
    auto child = StartChild({.path = kStub, .argv = {"stub", "guard"}, .environment = environment,
                             .fds = {guard_in.get(), guard_out.get(), 2}});
    ASSERT_TRUE(child.ok()) << child.status();
    guard_ = child->pid;
    launch::ToGuard message;
    *message.mutable_start() = start;
    ASSERT_TRUE(WriteFrame(to_guard_.get(), message.SerializeAsString(), Now() + seconds(10)).ok());
  }

  void Stop(bool hurry) {
    launch::ToGuard message;
    message.mutable_stop()->set_reason("told to");
    message.mutable_stop()->set_hurry(hurry);
    ASSERT_TRUE(WriteFrame(to_guard_.get(), message.SerializeAsString(), Now() + seconds(10)).ok());
  }

  // One message; false: the guard has closed its end.
  bool Next() {
    const auto bytes = reader_->Read(Now() + seconds(30));
    if (!bytes.ok()) {
      EXPECT_EQ(bytes.status().code(), StatusCode::kUnavailable) << bytes.status();
      return false;
    }
    launch::FromGuard message;
    EXPECT_TRUE(message.ParseFromString(*bytes));
    if (message.has_ready()) worker_ = message.ready().worker_pid();
    if (message.has_done()) done_ = message.done();
    if (message.has_log()) log_ += message.log().text() + "\n";
    if (message.has_output()) {
      auto& stream = outputs_[{message.output().rank(), message.output().is_stderr()}];
      EXPECT_FALSE(done_) << "output after the last message";
      stream += message.output().data();
      ends_ += message.output().end();
    }
    return true;
  }
  void ReadUntil(const std::function<bool()>& found) {
    while (!found() && Next()) {
    }
    ASSERT_TRUE(found());
  }
  bool Lines(int count) {
    size_t lines = 0;
    for (const auto& [key, text] : outputs_) lines += std::count(text.begin(), text.end(), '\n');
    return worker_ > 0 && lines >= static_cast<size_t>(count);
  }

  // Everything has ended: the guard with 0, no process and no file is left.
  void ExpectCleanEnd() {
    while (Next()) {
    }
    int status = 0;
    EXPECT_EQ(waitpid(guard_, &status, 0), guard_);
    EXPECT_EQ(DecodeWaitStatus(status).code, 0);
    ExpectNothingLeft();
  }
  void ExpectNothingLeft() {
    EXPECT_TRUE(Descendants(getpid()).empty());
    for (const auto& entry : std::filesystem::directory_iterator(base_)) {
      ADD_FAILURE() << entry.path() << " is left";
    }
  }

  std::string base_;
  UniqueFd to_guard_, from_guard_;
  std::optional<FrameReader> reader_;
  pid_t guard_ = 0;
  pid_t worker_ = 0;
  std::optional<launch::GuardDone> done_;
  std::string log_;
  std::map<std::pair<int, bool>, std::string> outputs_;
  int ends_ = 0;
};

// A trainer with a grandchild that ignores SIGTERM, in a session of its own.
constexpr char kStubborn[] =
    "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo up; while :; do sleep 100; done' & "
    "echo up; while :; do sleep 100; done";

TEST_F(GuardProcessTest, ANormalEndHasNoReasonAndAllOutput) {
  Launch(StartOf("echo out$REIGEN_RANK; printf tail; echo err >&2"));
  ExpectCleanEnd();
  ASSERT_TRUE(done_);
  EXPECT_EQ(done_->reason(), "");
  EXPECT_FALSE(done_->worker_lost());
  EXPECT_EQ((outputs_[{1, false}]), "out1\ntail");
  EXPECT_EQ((outputs_[{0, true}]), "err\n");
  EXPECT_EQ(ends_, 4);
}

TEST_F(GuardProcessTest, ManyLinesArriveWhole) {
  Launch(StartOf("i=0; while [ $i -lt 10000 ]; do printf '%0199d\\n' $i; i=$((i+1)); done"));
  poll(nullptr, 0, 300);  // let the pipes and the guard's buffer fill
  ExpectCleanEnd();
  std::string expected;
  for (int i = 0; i < 10000; ++i) {
    const std::string number = std::to_string(i);
    expected += std::string(199 - number.size(), '0') + number + "\n";
  }
  EXPECT_TRUE((outputs_[{0, false}] == expected));
  EXPECT_TRUE((outputs_[{1, false}] == expected));
}

TEST_F(GuardProcessTest, AKilledWorkerEndsTheTree) {
  Launch(StartOf(kStubborn));
  ReadUntil([&] { return Lines(4); });
  kill(worker_, SIGKILL);
  ExpectCleanEnd();
  ASSERT_TRUE(done_);
  EXPECT_TRUE(done_->worker_lost());
  EXPECT_NE(done_->reason().find("signal 9"), std::string::npos);
}

// A user's value or a path in it need not be UTF-8.
TEST_F(GuardProcessTest, AWorkersCauseIsTheReasonWhateverItsBytes) {
  Launch(StartOf(kStubborn), {"STUB_CAUSE=no device \xff\xe4"});
  ExpectCleanEnd();
  ASSERT_TRUE(done_);
  EXPECT_TRUE(done_->worker_lost());
  EXPECT_EQ(done_->reason(), "no device \xff\xe4");
}

TEST_F(GuardProcessTest, AStoppedWorkerEndsTheTree) {
  Launch(StartOf(kStubborn));
  ReadUntil([&] { return Lines(4); });
  const Time begin = Now();
  kill(worker_, SIGSTOP);
  ExpectCleanEnd();
  EXPECT_LT(Now() - begin, seconds(8));
  ASSERT_TRUE(done_);
  EXPECT_TRUE(done_->worker_lost());
  EXPECT_NE(done_->reason().find("heartbeat"), std::string::npos);
}

TEST_F(GuardProcessTest, TheLaunchersDeathEndsTheTree) {
  Launch(StartOf(kStubborn));
  ReadUntil([&] { return Lines(4); });
  to_guard_.Reset();
  from_guard_.Reset();
  int status = 0;
  EXPECT_EQ(waitpid(guard_, &status, 0), guard_);
  ExpectNothingLeft();
}

TEST_F(GuardProcessTest, StopGivesAGraceAndHurryDoesNot) {
  Launch(StartOf("trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.1; done"));
  ReadUntil([&] { return Lines(2); });
  Stop(/*hurry=*/false);
  ExpectCleanEnd();
  EXPECT_EQ(done_->reason(), "told to");
  EXPECT_FALSE(done_->worker_lost());
  EXPECT_EQ((outputs_[{0, false}]), "up\nbye\n");

  outputs_.clear();
  worker_ = 0;
  done_.reset();
  launch::GuardStart start = StartOf(kStubborn);
  start.mutable_options()->set_grace_seconds(600);
  Launch(start);
  ReadUntil([&] { return Lines(4); });
  Stop(/*hurry=*/true);
  ExpectCleanEnd();
}

TEST_F(GuardProcessTest, TheGuardsDeathEndsWorkerAndTrainers) {
  Launch(StartOf("echo up; while :; do sleep 100; done"));
  ReadUntil([&] { return Lines(2); });
  kill(guard_, SIGKILL);
  waitpid(guard_, nullptr, 0);
  const Time deadline = Now() + seconds(10);
  // The sleeps are adopted by this test; a worker with sessions ends them too.
  const auto named_sleep = [](const ProcessInfo& p) {
    std::ifstream file("/proc/" + std::to_string(p.pid) + "/comm");
    std::string comm;
    file >> comm;
    return comm == "sleep";
  };
  for (;;) {
    bool others = false;
    for (const ProcessInfo& p : Descendants(getpid())) {
      if (named_sleep(p)) {
        SignalProcess(p, SIGKILL);
      } else {
        others = true;
      }
    }
    if (!others || Now() > deadline) break;
    poll(nullptr, 0, 10);
  }
  EXPECT_LT(Now(), deadline);
  while (waitpid(-1, nullptr, 0) > 0) {
  }
}

TEST_F(GuardProcessTest, WhatCannotBeKilledIsNamedAndTheGuardEnds) {
  Launch(StartOf("cp /bin/sleep $REIGEN_RUNTIME_DIR/../unkillable 2>/dev/null; "
                 "setsid $REIGEN_RUNTIME_DIR/../unkillable 1000 & echo $!; wait", 1),
         {"STUB_UNKILLABLE=unkillable"});
  ReadUntil([&] { return Lines(1); });
  poll(nullptr, 0, 200);  // let it exec
  Stop(/*hurry=*/true);
  while (Next()) {
  }
  ASSERT_TRUE(done_);
  ASSERT_EQ(done_->unkillable_pids_size(), 1);
  const pid_t survivor = static_cast<pid_t>(done_->unkillable_pids(0));
  waitpid(guard_, nullptr, 0);
  kill(survivor, SIGKILL);
  waitpid(survivor, nullptr, 0);
  ExpectNothingLeft();
}

TEST_F(GuardProcessTest, AnotherVersionIsRefused) {
  launch::GuardStart start = StartOf("true");
  start.set_version("9.9");
  Launch(start);
  ExpectCleanEnd();
  ASSERT_TRUE(done_);
  EXPECT_TRUE(done_->worker_lost());
  EXPECT_NE(done_->reason().find("9.9"), std::string::npos);
}

TEST_F(GuardProcessTest, AMissingProgramIsInTheLog) {
  launch::GuardStart start = StartOf("");
  start.set_argv(0, "python99");
  Launch(start);
  ExpectCleanEnd();
  EXPECT_TRUE(done_->worker_lost());
  EXPECT_NE(log_.find("python99"), std::string::npos);
  EXPECT_NE(log_.find("hosty"), std::string::npos);
}

}  // namespace
}  // namespace reigen::worker
