// Goal: trainers attach, submit, grow and leave; those that may not are refused; what a
// trainer does wrong ends its own session only.
// Method: scripted trainers in the thread of the loop.
#include "worker/session/sessions.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "worker/session/scripted_trainer.h"

namespace reigen::worker {
namespace {

class SessionsTest : public testing::Test, public SessionHandler {
 protected:
  void SetUp() override {
    folder_ = "/tmp/reigen-test-XXXXXX";  // short: a socket's path has 107 bytes
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/worker.sock";
    ASSERT_TRUE(sessions_->Listen(path_).ok());
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }

  void OnAttached(int local) override { attached_.push_back(local); }
  void OnRequest(int, Request request) override { requests_.push_back(std::move(request)); }
  void OnShutdown(int local) override { shutdown_.push_back(local); }
  void OnGone(int, pid_t, const std::string& reason) override { gone_.push_back(reason); }

  void Turn() {
    loop_->RunOnce(Now() + milliseconds(1));
    executor_->Progress();
    sessions_->TakeRequests();
    sessions_->Publish();
  }

  std::unique_ptr<ScriptedTrainer> Trainer() {
    auto trainer = std::make_unique<ScriptedTrainer>(seconds(10), [this] { Turn(); });
    EXPECT_TRUE(trainer->Connect(path_));
    return trainer;
  }

  std::unique_ptr<ScriptedTrainer> Attached(int rank) {
    auto trainer = Trainer();
    trainer->Hello(rank);
    EXPECT_EQ(trainer->Receive(), local::PacketKind::kWelcome);
    return trainer;
  }

  void TurnUntil(const std::function<bool()>& condition) {
    const Time deadline = Now() + seconds(10);
    while (!condition() && Now() < deadline) Turn();
    EXPECT_TRUE(condition());
  }

  bool belongs_ = true;
  std::string folder_, path_;
  std::vector<int> attached_, shutdown_;
  std::vector<Request> requests_;
  std::vector<std::string> gone_;
  std::unique_ptr<EventLoop> loop_ = std::move(*EventLoop::Make());
  std::unique_ptr<collective::WorkExecutor> executor_ = collective::MakeInlineExecutor();
  std::unique_ptr<Sessions> sessions_ = std::make_unique<Sessions>(
      Sessions::Options{.ranks = {4, 5}, .belongs = [this](pid_t, int) { return belongs_; }},
      loop_.get(), executor_.get(), this);
};

TEST_F(SessionsTest, ATrainerAttachesAndItsRequestArrivesWithItsMemory) {
  auto trainer = Attached(5);
  EXPECT_EQ(attached_, (std::vector<int>{1}));
  trainer->DefineName(3, "x");
  trainer->arena()[64] = std::byte{9};
  const uint64_t id = trainer->Allreduce(3, DataType::kUint8, 10, 64);
  TurnUntil([&] { return !requests_.empty(); });
  EXPECT_EQ(requests_[0].name, "x");
  EXPECT_EQ(requests_[0].data[0][0], std::byte{9}) << "the same memory";
  sessions_->Complete(1, id, local::ResultCode::kFailedPrecondition, "no");
  const auto result = trainer->Wait(id);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text, "no");
}

TEST_F(SessionsTest, AnInlinePayloadComesBack) {
  auto trainer = Attached(4);
  trainer->DefineName(0, "x");
  const std::byte payload[4] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  const uint64_t id = trainer->InlineAllreduce(0, DataType::kUint8, payload);
  TurnUntil([&] { return !requests_.empty(); });
  requests_[0].data[0][2] = std::byte{30};
  sessions_->Complete(0, id, local::ResultCode::kOk, "");
  const auto result = trainer->Wait(id);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->inline_bytes[2], std::byte{30});
  EXPECT_EQ(result->inline_bytes[3], std::byte{4});
}

TEST_F(SessionsTest, ASecondProcessForARankIsRefusedByPid) {
  auto first = Attached(4);
  auto second = Trainer();
  second->Hello(4);
  EXPECT_NE(second->ReceiveRefusal().find("is held by process " + std::to_string(getpid())),
            std::string::npos);
}

TEST_F(SessionsTest, StrangersAreRefused) {
  auto trainer = Trainer();
  trainer->Hello(77);
  EXPECT_NE(trainer->ReceiveRefusal().find("is not a rank of this host"), std::string::npos);

  belongs_ = false;
  trainer = Trainer();
  trainer->Hello(4);
  EXPECT_NE(trainer->ReceiveRefusal().find("does not descend"), std::string::npos);

  trainer = Trainer();
  local::Hello lie;
  lie.rank = 4;
  lie.pid = 1;
  trainer->Send(lie);
  EXPECT_NE(trainer->ReceiveRefusal().find("says that it is process 1"), std::string::npos);

  trainer = Trainer();
  local::Hello old;
  old.packet.version = 99;
  trainer->Send(old);
  EXPECT_NE(trainer->ReceiveRefusal().find("version 99"), std::string::npos);

  trainer = Trainer();
  trainer->Send(uint64_t{1});
  trainer->Receive();
  EXPECT_TRUE(attached_.empty());
}

TEST_F(SessionsTest, SilentConnectionsDoNotKeepTrainersOut) {
  std::vector<std::unique_ptr<ScriptedTrainer>> silent;
  for (int i = 0; i < 200; ++i) {
    silent.push_back(Trainer());
    Turn();
  }
  Attached(4);
}

TEST_F(SessionsTest, AnArenaIsAddedAndAnAbsurdOneRefused) {
  auto trainer = Attached(4);
  local::GrowArena grow;
  grow.bytes = 100000;
  trainer->Send(grow);
  ASSERT_EQ(trainer->Receive(), local::PacketKind::kArenaGrown);
  EXPECT_EQ(trainer->packet<local::ArenaGrown>().arena, 1u);
  EXPECT_GE(trainer->packet<local::ArenaGrown>().bytes, 100000u);
  grow.bytes = ~uint64_t{0};
  trainer->Send(grow);
  EXPECT_FALSE(trainer->ReceiveRefusal().empty());
  EXPECT_TRUE(gone_.empty());
}

TEST_F(SessionsTest, ShutdownComesAfterWhatWasSubmittedAndFreesTheRank) {
  auto trainer = Attached(4);
  trainer->DefineName(0, "x");
  trainer->Allreduce(0, DataType::kUint8, 1, 0);
  trainer->Send(local::Shutdown{});
  TurnUntil([&] { return !shutdown_.empty(); });
  EXPECT_EQ(requests_.size(), 1u);
  sessions_->Release(0);
  EXPECT_EQ(trainer->Receive(), local::PacketKind::kShutdownDone);
  EXPECT_EQ(trainer->Receive(), std::nullopt);
  sessions_->FreeRetired();
  Attached(4);
  EXPECT_TRUE(gone_.empty());
}

TEST_F(SessionsTest, ABrokenQueueEndsThatSessionOnly) {
  auto good = Attached(4);
  auto bad = Attached(5);
  const local::Slot nonsense{};
  bad->Submit(std::array{nonsense});
  TurnUntil([&] { return !gone_.empty(); });
  EXPECT_EQ(bad->Receive(), std::nullopt);
  good->DefineName(0, "x");
  good->Allreduce(0, DataType::kUint8, 1, 0);
  TurnUntil([&] { return !requests_.empty(); });

  good->header().submission_head.store(0x7fffffff);
  TurnUntil([&] { return gone_.size() == 2; });
}

TEST_F(SessionsTest, AClosedConnectionIsGone) {
  auto trainer = Attached(4);
  trainer->CloseSocket();
  TurnUntil([&] { return !gone_.empty(); });
  EXPECT_EQ(gone_[0], "closed its connection without shutdown");
  auto successor = Trainer();
  successor->Hello(4);
  EXPECT_NE(successor->ReceiveRefusal().find("cannot take its place"), std::string::npos);
}

TEST_F(SessionsTest, WhatALostTrainerAskedForCanStillBeRun) {
  auto trainer = Attached(4);
  trainer->DefineName(0, "x");
  trainer->arena()[64] = std::byte{9};
  trainer->Allreduce(0, DataType::kUint8, 10, 64);
  TurnUntil([&] { return !requests_.empty(); });
  trainer->CloseSocket();
  TurnUntil([&] { return !gone_.empty(); });
  trainer.reset();
  sessions_->FreeRetired();
  // The plan was on its way.
  EXPECT_EQ(requests_[0].data[0][0], std::byte{9});
  requests_[0].data[0][0] = std::byte{10};
}

TEST_F(SessionsTest, ARequestIdUsedTwiceEndsTheSession) {
  auto trainer = Attached(4);
  trainer->DefineName(0, "x");
  local::RequestSlot request;
  request.op = static_cast<uint8_t>(ReduceOp::kSum);
  request.collective = static_cast<uint8_t>(CollectiveKind::kBarrier);
  request.request = 1;
  const local::Slot slot = ScriptedTrainer::ToSlot(request);
  trainer->Submit(std::array{slot, slot});
  TurnUntil([&] { return !gone_.empty(); });
}

TEST_F(SessionsTest, ATrainerWakesASleepingWorker) {
  auto trainer = Attached(4);
  EXPECT_FALSE(sessions_->PrepareToSleep());
  trainer->DefineName(0, "x");
  trainer->Allreduce(0, DataType::kUint8, 1, 0);
  EXPECT_EQ(trainer->header().worker_sleeping.load(), 0u);
  EXPECT_TRUE(sessions_->PrepareToSleep()) << "it looks again";
  sessions_->WokenUp();
  loop_->RunOnce(Now() + seconds(10));
  sessions_->TakeRequests();
  EXPECT_EQ(requests_.size(), 1u);
}

}  // namespace
}  // namespace reigen::worker
