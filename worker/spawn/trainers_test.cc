// Starts shell scripts as trainers. Descriptors of ServeFdCount() are taken by
// this test for the pipes, as a guard would hand them over.
#include "worker/spawn/trainers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/process_tree.h"
#include "worker/spawn/serve_fds.h"

namespace reigen::worker {
namespace {

class TrainersTest : public testing::Test {
 protected:
  // Starts `script` under sh for two ranks (4 and 5).
  Status Start(const std::string& script) {
    start_.set_size(6);
    start_.mutable_host()->set_name("hosty");
    start_.set_working_directory("/");
    if (start_.argv_size() == 0) {
      for (const char* word : {"sh", "-c", script.c_str()}) start_.add_argv(word);
    }
    start_.add_environment("PATH=/usr/bin:/bin");
    for (int i = 0; i < 2; ++i) {
      start_.mutable_host()->add_ranks(4 + i);
      start_.add_cross_ranks(0);
      start_.add_cross_sizes(1);
      outputs_[2 * i] = MakePipe(StdoutFd(i));
      outputs_[2 * i + 1] = MakePipe(StderrFd(i));
    }
    auto started = Trainers::Start(start_, "/tmp/none");
    if (!started.ok()) return started.status();
    trainers_ = std::move(*started);
    return OkStatus();
  }

  // The write end becomes descriptor `fd`; returns the read end.
  static UniqueFd MakePipe(int fd) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    UniqueFd read_end(fcntl(ends[0], F_DUPFD_CLOEXEC, 64));
    UniqueFd write_end(fcntl(ends[1], F_DUPFD_CLOEXEC, 64));
    close(ends[0]);
    close(ends[1]);
    EXPECT_EQ(dup2(write_end.get(), fd), fd);
    return read_end;
  }

  std::string ReadLine(int output) {
    std::string line;
    for (char c; read(outputs_[output].get(), &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }

  std::vector<TrainerEnd> ReapUntil(const std::function<bool()>& done) {
    std::vector<TrainerEnd> all;
    const Time deadline = Now() + seconds(20);
    while (!done() && Now() < deadline) {
      for (auto& end : trainers_->Reap()) all.push_back(end);
      poll(nullptr, 0, 5);
    }
    for (auto& end : trainers_->Reap()) all.push_back(end);
    EXPECT_TRUE(done());
    return all;
  }

  void TearDown() override {
    if (!trainers_) return;
    ReapUntil([&] {
      trainers_->KillAll();
      return !trainers_->AnyLeft();
    });
  }

  launch::GuardStart start_;
  UniqueFd outputs_[4];
  std::unique_ptr<Trainers> trainers_;
};

TEST_F(TrainersTest, OutputsCodesAndSignalsArriveByRank) {
  ASSERT_TRUE(Start("echo out$REIGEN_RANK; echo err >&2; "
                    "[ $REIGEN_RANK = 4 ] && exit 7; kill -9 $$")
                  .ok());
  EXPECT_EQ(ReadLine(0), "out4");
  EXPECT_EQ(ReadLine(1), "err");
  EXPECT_EQ(ReadLine(2), "out5");
  EXPECT_EQ(ReadLine(0), "");  // closed: no copy of the write end is left here
  auto ends = ReapUntil([&] { return !trainers_->running(0) && !trainers_->running(1); });
  ASSERT_EQ(ends.size(), 2u);
  for (const TrainerEnd& end : ends) {
    EXPECT_EQ(end.code, end.rank == 4 ? 7 : 137);
    EXPECT_EQ(end.signal, end.rank == 4 ? 0 : 9);
    EXPECT_NE(end.detail.find(end.rank == 4 ? "exit 7" : "signal 9"), std::string::npos);
  }
}

TEST_F(TrainersTest, ThePidfdIsReadableWhenTheProcessHasEnded) {
  ASSERT_TRUE(Start("exit 0").ok());
  pollfd entry{trainers_->pidfd(0), POLLIN, 0};
  EXPECT_EQ(poll(&entry, 1, 20000), 1);
}

TEST_F(TrainersTest, DescendantsBelongToTheirRankEvenWhenAdopted) {
  // The middle process ends: its child is adopted by this one.
  ASSERT_TRUE(Start("(sh -c 'echo $$; exec sleep 1000' &); exec sleep 1000").ok());
  const pid_t grandchild = std::stoi(ReadLine(2));
  EXPECT_TRUE(trainers_->Descends(grandchild, 5));
  EXPECT_FALSE(trainers_->Descends(grandchild, 4));
  EXPECT_EQ(trainers_->RankOf(trainers_->pid(0)), 4);
  EXPECT_FALSE(trainers_->RankOf(getpid()));
  EXPECT_FALSE(trainers_->RankOf(1));
}

TEST_F(TrainersTest, KillAllEndsGrandchildrenThatIgnoreSigterm) {
  ASSERT_TRUE(Start("trap '' TERM; "
                    "setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000; sleep 1000' & "
                    "sleep 1000; sleep 1000")
                  .ok());
  const pid_t grandchild = std::stoi(ReadLine(0));
  ReadLine(2);
  trainers_->TerminateAll();
  EXPECT_TRUE(ReadProcess(grandchild));
  const auto ends = ReapUntil([&] {
    trainers_->KillAll();
    return !trainers_->AnyLeft();
  });
  EXPECT_EQ(ends.size(), 2u);
  EXPECT_FALSE(ReadProcess(grandchild));
}

TEST_F(TrainersTest, AMissingProgramIsNamedWithHostAndWayOut) {
  start_.add_argv("python99");
  const Status by_path = Start("");
  EXPECT_EQ(by_path.code(), StatusCode::kNotFound);
  for (const char* part : {"hosty", "python99", "/usr/bin:/bin", "PATH"}) {
    EXPECT_NE(Message(by_path).find(part), std::string::npos) << by_path;
  }
  EXPECT_EQ(ReadLine(0), "");  // closed
}

TEST_F(TrainersTest, AProgramOfTheLaunchersHostThatIsAbsentHereIsNamed) {
  start_.set_program("/venv/bin/python3");
  const Status status = Start("");
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(Message(status).find("/venv/bin/python3"), std::string::npos);
  EXPECT_NE(Message(status).find("hosty"), std::string::npos);
}

}  // namespace
}  // namespace reigen::worker
