// Goal: calls that fail when a device breaks or has gone, and not a work request, end a
// link as well: with a named error at both ends, every post back, no link that sleeps.
// Method: two hosts over the fake verbs, with one call each that fails.
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/transport/link.h"
#include "runtime/transport/rdma/testing/rdma_link_fixture.h"
#include "runtime/transport/rdma/words.h"

namespace reigen::transport::rdma {
namespace {

class VerbsErrorsTest : public RdmaLinkTest {
 protected:
  bool BothLost() {
    return StepUntil([&] { return !links_[0]->error().ok() && !links_[1]->error().ok(); });
  }
  // One receive at each end, for a message that never comes.
  void PostReceives() {
    for (int host : {0, 1}) {
      ASSERT_TRUE(links_[host]->PostRecv(In(host), MakeTag(9), 9).ok());
    }
    for (int i = 0; i < 5; ++i) pair_->Step();
  }
  bool BothBack() {
    return StepUntil([&] { return ended_[0].contains(9) && ended_[1].contains(9); });
  }
};

TEST_F(VerbsErrorsTest, AQueueThatCannotBePolledEndsTheLink) {
  ConnectAndUse();
  PostReceives();
  device("fake00").poll_status = Unavailable("ibv_poll_cq failed");
  ASSERT_TRUE(links_[0]->PostSend(In(0).first(8), MakeTag(1), 1).ok());
  ASSERT_TRUE(BothBack());
  EXPECT_EQ(ended_[0].at(9), OpResult::kLinkLost);
  ExpectText(0, {"ibv_poll_cq", "anna (fake00", "bert (fake10"});
  ExpectText(1, {"ended by the peer", "ibv_poll_cq"});
  EXPECT_EQ(device("fake00").queue_pairs, 0u) << "destroyed: nothing moves any more";
  device("fake00").poll_status = OkStatus();
  ExpectNewLinkWorks();
}

// It would sleep for ever on a descriptor that nothing makes readable.
TEST_F(VerbsErrorsTest, AQueueThatCannotBeArmedEndsTheLink) {
  ConnectAndUse();
  PostReceives();
  device("fake10").arm_status = Unavailable("ibv_req_notify_cq: Input/output error");
  ASSERT_TRUE(links_[1]->PostSend(In(1).first(8), MakeTag(1), 1).ok());
  ASSERT_TRUE(BothBack());
  ExpectText(1, {"ibv_req_notify_cq", "anna", "bert"});
  ExpectText(0, {"ended by the peer", "ibv_req_notify_cq"});
  device("fake10").arm_status = OkStatus();
  ExpectNewLinkWorks();
}

// Then the queue pairs are destroyed, which has the same effect.
TEST_F(VerbsErrorsTest, AQueuePairThatDoesNotGoToTheErrorStateIsDestroyed) {
  for (const bool close : {true, false}) {
    ConnectAndUse();
    PostReceives();
    device("fake00").set_error_status = Unavailable("ibv_modify_qp to ERR: Input/output error");
    if (close) {
      links_[0]->Close();
    } else {
      device("fake00").Raise({.kind = AsyncKind::kDeviceFatal, .text = "device fatal"});
    }
    ASSERT_TRUE(BothBack());
    EXPECT_EQ(ended_[0].at(9), close ? OpResult::kCancelled : OpResult::kLinkLost);
    EXPECT_EQ(device("fake00").queue_pairs, 0u);
    device("fake00").set_error_status = OkStatus();
    ExpectNewLinkWorks();
    TearDown();
    for (auto& ended : ended_) ended.clear();
  }
}

TEST_F(VerbsErrorsTest, ACompletionQueueThatCannotBeMadeIsAnErrorAtBothEnds) {
  Make();
  device("fake10").next_completion_queue_status = ResourceExhausted("ibv_create_cq: no room");
  Connect();
  ASSERT_TRUE(BothLost());
  for (int host : {0, 1}) ExpectText(host, {"ibv_create_cq: no room", "anna", "bert"});
  ExpectNewLinkWorks();
}

// This process may lock 1 MiB and has no right to more, whoever runs it.
class LittleLockedMemory {
 public:
  LittleLockedMemory() {
    getrlimit(RLIMIT_MEMLOCK, &limit_);
    rlimit little = limit_;
    little.rlim_cur = 1 << 20;
    EXPECT_EQ(setrlimit(RLIMIT_MEMLOCK, &little), 0);
    EXPECT_EQ(syscall(SYS_capget, &header_, data_), 0);
    SetEffective(data_[0].effective & ~(1u << CAP_IPC_LOCK));
  }
  ~LittleLockedMemory() {
    SetEffective(data_[0].effective);
    setrlimit(RLIMIT_MEMLOCK, &limit_);
  }

 private:
  void SetEffective(uint32_t effective) {
    __user_cap_data_struct data[2] = {data_[0], data_[1]};
    data[0].effective = effective;
    EXPECT_EQ(syscall(SYS_capset, &header_, data), 0);
  }

  rlimit limit_{};
  __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data_[2] = {};
};

// C43: real cards lock the rings of queues, too.
TEST_F(VerbsErrorsTest, QueuesForWhichMemoryCannotBeLockedSayHowToRaiseTheLimit) {
  const LittleLockedMemory little;
  Make();
  FakeDeviceState& bert = device("fake10");
  bert.next_completion_queue_status =
      ErrnoStatus(StatusCode::kResourceExhausted, "ibv_create_cq", ENOMEM);
  Connect();
  ASSERT_TRUE(BothLost());
  for (int host : {0, 1}) {
    ExpectText(host, {"ibv_create_cq: Cannot allocate memory", "limited to 1024 KiB",
                      "1024 KiB more were needed", "ulimit -l"});
  }
  bert.next_queue_pair_status =
      ErrnoStatus(StatusCode::kResourceExhausted, "ibv_create_qp", ENOMEM);
  for (int host : {0, 1}) links_[host].reset();
  Connect();
  ASSERT_TRUE(BothLost());
  ExpectText(1, {"ibv_create_qp: Cannot allocate memory", "limited to 1024 KiB", "ulimit -l"});
  ExpectNewLinkWorks();
}

// The same, found before a host counts on RDMA: no device can make up for it.
TEST_F(VerbsErrorsTest, ALimitOfLockedMemoryIsSaidOnceForAllDevices) {
  const LittleLockedMemory little;
  FakeFabric fabric;
  for (const char* name : {"one", "two"}) {
    fabric.AddDevice(0, name, "10.0.0.1").next_completion_queue_status =
        ErrnoStatus(StatusCode::kResourceExhausted, "ibv_create_cq", ENOMEM);
  }
  RdmaOptions options;
  options.secret = "secret";
  options.bind_addresses = {"127.0.0.1"};
  const Status status = RdmaTransport::Create(options, fabric.VerbsOf(0)).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  const std::string text = Message(status);
  EXPECT_EQ(text.find("one: ibv_create_cq: Cannot allocate memory: locked memory is limited"), 0u)
      << text;
  EXPECT_EQ(text.find("ulimit -l"), text.rfind("ulimit -l")) << text;
}

// Each new link reads the port again. Links that are there live through a flap.
TEST_F(VerbsErrorsTest, APortThatIsDownForAWhileKeepsNoLinkFromBeingMade) {
  Make(/*channels=*/2, /*devices=*/2);
  for (const char* name : {"fake01", "fake11"}) {
    device(name).next_query_status = Unavailable("ibv_query_port: Input/output error");
    Connect();
    Exchange();
    for (int host : {0, 1}) links_[host].reset();
    device(name).info.ports[0].active = false;
    const std::vector<GidEntry> gids = std::exchange(device(name).info.ports[0].gids, {});
    Connect();
    for (int i = 0; i < 50; ++i) pair_->Step();
    for (int host : {0, 1}) EXPECT_TRUE(links_[host]->error().ok());
    device(name).info.ports[0].active = true;
    for (int i = 0; i < 50; ++i) pair_->Step();
    for (int host : {0, 1}) EXPECT_TRUE(links_[host]->error().ok()) << "it has no address yet";
    device(name).info.ports[0].gids = gids;
    Exchange();
    for (int host : {0, 1}) links_[host].reset();
  }
}

TEST_F(VerbsErrorsTest, ALinkDoesWithoutAPortThatStaysDownIfThereAreOthers) {
  RdmaOptions options;
  options.connect_deadline = seconds(3);
  Make(/*channels=*/4, /*devices=*/3, options);
  device("fake10").info.ports[0].active = false;
  Connect();
  PostLarge(1);
  ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(1) && ended_[1].contains(1); }));
  EXPECT_EQ(memory_[0], memory_[1]);
  EXPECT_TRUE(device("fake10").paths.empty());
  EXPECT_EQ(device("fake11").paths.size() + device("fake12").paths.size(), 5u);
  device("fake10").info.ports[0].active = true;
  ended_[0].clear();
  ended_[1].clear();
  ExpectNewLinkWorks();
  EXPECT_FALSE(device("fake10").paths.empty());
}

// The end without a port gives up first, so that both say why.
TEST_F(VerbsErrorsTest, APortThatStaysDownIsAnErrorAtBothEnds) {
  Make();
  device("fake10").info.ports[0].active = false;
  Connect();
  for (int i = 0; i < 50; ++i) pair_->Step();
  for (int host : {0, 1}) pair_->transport(host).Progress(Now() + milliseconds(25500));
  EXPECT_TRUE(links_[0]->error().ok()) << links_[0]->error().ToString();
  ASSERT_TRUE(BothLost());
  for (int host : {0, 1}) {
    ExpectText(host, {"fake10:1 is not active", "not connected in 25 s", "anna", "bert"});
  }
}

// To read a port may take milliseconds of the time in which the worker is to be heard of.
TEST_F(VerbsErrorsTest, LinksThatWaitForAPortReadItTogether) {
  Make();
  FakeDeviceState& anna = device("fake00");
  anna.info.ports[0].active = false;
  const Time start = Now();
  const size_t before = anna.queries;
  std::vector<std::unique_ptr<Link>> links;
  for (int i = 0; i < 8; ++i) {
    for (int host : {0, 1}) {
      links.push_back(pair_->transport(host).Connect(pair_->peer(1 - host)));
    }
    for (int step = 0; step < 30; ++step) pair_->Step();
  }
  for (int step = 0; step < 50; ++step) pair_->Step();
  const auto tenths = static_cast<size_t>((Now() - start) / milliseconds(100));
  EXPECT_GE(anna.queries - before, 2u);
  EXPECT_LE(anna.queries - before, tenths + 1);
  for (const auto& link : links) EXPECT_TRUE(link->error().ok());
}

TEST_F(VerbsErrorsTest, AReceiveWithABadStatusEndsTheLinkWithItsName) {
  for (int i = 1; i < kWorkStatuses; ++i) {
    const auto status = static_cast<WorkStatus>(i);
    ConnectAndUse();
    device("fake10").next_receive_status = status;
    PostLarge(1);
    ASSERT_TRUE(BothLost());
    ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(1) && ended_[1].contains(1); }));
    EXPECT_EQ(ended_[1].at(1), OpResult::kLinkLost);
    EXPECT_EQ(links_[1]->error().code(),
              IsLostPath(status) ? StatusCode::kUnavailable : StatusCode::kInternal);
    ExpectText(1, {Name(status), "bert (fake10", "anna (fake00"});
    ExpectText(0, {"ended by the peer"});
    ExpectNewLinkWorks();
    TearDown();
    for (auto& ended : ended_) ended.clear();
  }
}

// What some devices say when a port goes down is said by others of faults; a port that is up
// again ends no link, and what proves a fault of a program stays one.
TEST_F(VerbsErrorsTest, WhatAPortThatWentDownMayCauseIsALostPath) {
  enum { kDown, kUpAgain, kLongAgo };
  for (const int when : {kDown, kUpAgain, kLongAgo}) {
    for (int i = 1; i < kWorkStatuses; ++i) {
      const auto status = static_cast<WorkStatus>(i);
      ConnectAndUse();
      PortInfo& port = device("fake00").info.ports[0];
      if (when != kDown) {
        device("fake00").Raise({.kind = AsyncKind::kPortError, .text = "port error", .port = 1});
        device("fake00").Raise({.kind = AsyncKind::kPortActive, .text = "port active", .port = 1});
        if (when == kLongAgo) pair_->transport(0).Progress(Now() - std::chrono::hours(1));
        Exchange();
        EXPECT_TRUE(links_[0]->error().ok());
      } else {
        port.active = false;
        port.state = "DOWN";
      }
      device("fake00").next_send_status = status;
      PostLarge(1);
      ExpectLost(1);
      const bool by_port =
          when != kLongAgo && (IsLostPath(status) || MayBeOfADeadPort(status));
      const bool lost = by_port || IsLostPath(status);
      EXPECT_EQ(links_[0]->error().code(), lost ? StatusCode::kUnavailable : StatusCode::kInternal);
      ExpectText(0, {Name(status), "anna (fake00:1 10.0.0.1)", "bert (fake10:1 10.0.0.2)"});
      const std::string down =
          std::string("port fake00:1 went down (") + (when == kDown ? "DOWN)" : "port error)");
      for (int host : {0, 1}) {
        const std::string text = links_[host]->error().ToString();
        EXPECT_EQ(text.find(down) != std::string::npos, by_port) << text;
      }
      port.active = true;
      port.state = "ACTIVE";
      ExpectNewLinkWorks();
      TearDown();
      for (auto& ended : ended_) ended.clear();
    }
  }
}

TEST_F(VerbsErrorsTest, AQueuePairThatBreaksWithItsPortIsALostPath) {
  for (const bool down : {false, true}) {
    ConnectAndUse();
    const uint32_t own = device("fake10").paths.back().remote_qp;  // of fake00
    if (down) {
      device("fake00").Raise({.kind = AsyncKind::kPortError, .text = "port error", .port = 1});
    }
    device("fake00").Raise({.kind = AsyncKind::kQpFatal, .text = "QP fatal", .qp_number = own});
    ASSERT_TRUE(BothLost());
    EXPECT_EQ(links_[0]->error().code(), down ? StatusCode::kUnavailable : StatusCode::kInternal);
    ExpectText(0, {"QP fatal", "anna", "bert"});
    if (down) ExpectText(0, {"port fake00:1 went down (port error)"});
    ExpectNewLinkWorks();
    TearDown();
  }
}

// The end whose peer broke the rules sees a flush; its device tells why by an event, which comes
// another way and may be taken later.
TEST_F(VerbsErrorsTest, AFlushIsExplainedByTheEventThatTellsItsCause) {
  for (const bool port_down : {false, true}) {
    ConnectAndUse();
    FakeDeviceState& bert = device("fake10");
    const uint32_t own = device("fake00").paths.back().remote_qp;
    bool broken = false;
    bert.before_arm = [&] {
      if (port_down) bert.Raise({.kind = AsyncKind::kPortError, .text = "port error", .port = 1});
      bert.Raise({.kind = AsyncKind::kQpError, .text = "access error", .qp_number = own});
      pair_->fabric().Break(own);
      broken = true;
    };
    ASSERT_TRUE(links_[0]->PostSend(In(0).first(8), MakeTag(1), 1).ok());
    ASSERT_TRUE(StepUntil([&] { return broken; }));
    EXPECT_EQ(pair_->transport(1).NextDeadline(), Time{}) << "other links are to be told, too";
    ASSERT_TRUE(BothLost());
    EXPECT_EQ(links_[1]->error().code(), StatusCode::kInternal);
    ExpectText(1, {"access error", "bert (fake10", "anna (fake00"});
    ExpectText(0, {"access error", "ended by the peer"});
    ExpectNewLinkWorks();
    TearDown();
    for (auto& ended : ended_) ended.clear();
  }
}

// It says more than the event, which is its consequence.
TEST_F(VerbsErrorsTest, AStatusThatIsNoFlushIsItsOwnExplanation) {
  for (const WorkStatus status : {WorkStatus::kLocalQpOperation, WorkStatus::kFatal}) {
    ConnectAndUse();
    FakeDeviceState& bert = device("fake10");
    const uint32_t own = device("fake00").paths.back().remote_qp;
    bert.before_arm = [&] {
      bert.Raise({.kind = AsyncKind::kQpFatal, .text = "QP fatal", .qp_number = own});
      bert.next_receive_status = status;
      ASSERT_TRUE(links_[0]->PostSend(In(0).first(8), MakeTag(2), 2).ok());
      pair_->transport(0).Progress(Now());
    };
    ASSERT_TRUE(links_[0]->PostSend(In(0).first(8), MakeTag(1), 1).ok());
    ASSERT_TRUE(BothLost());
    EXPECT_EQ(links_[1]->error().code(), StatusCode::kInternal);
    ExpectText(1, {Name(status), "vendor code", "a fault of this program or of the device"});
    ExpectNewLinkWorks();
    TearDown();
    for (auto& ended : ended_) ended.clear();
  }
}

// Retries are counted by the device; one that has stopped, or goes on without end, tells nothing.
TEST_F(VerbsErrorsTest, ASendWithoutAnswerAndWithoutErrorIsALostPath) {
  for (const bool port_down : {false, true}) {
    RdmaOptions options;
    options.retry_budget = milliseconds(400);
    Make(/*channels=*/2, /*devices=*/1, options);
    Connect();
    Exchange();
    ASSERT_TRUE(links_[1]->PostRecv(In(1), MakeTag(1), 1).ok());
    for (int i = 0; i < 20; ++i) pair_->Step();
    pair_->fabric().Hold();
    ASSERT_TRUE(links_[0]->PostSend(In(0), MakeTag(1), 1).ok());
    FakeDeviceState& anna = device("fake00");
    if (port_down) anna.Raise({.kind = AsyncKind::kPortError, .text = "port error", .port = 1});
    const size_t queries = anna.queries;
    ASSERT_TRUE(BothLost()) << "neither a completion nor an error comes, nor anything else";
    EXPECT_EQ(links_[0]->error().code(), StatusCode::kUnavailable);
    ExpectText(0, {"no answer for 0.8 s", "anna (fake00", "bert (fake10"});
    EXPECT_EQ(anna.queries, queries) << "a stopped firmware lets whoever asks it wait";
    if (port_down) ExpectText(0, {"port fake00:1 went down (port error)"});
    ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(1) && ended_[1].contains(1); }));
    pair_->fabric().Release();
    ExpectNewLinkWorks();
    TearDown();
    for (auto& ended : ended_) ended.clear();
  }
}

// A worker that was stopped, or whose machine was, finds its answers, or waits for them.
TEST_F(VerbsErrorsTest, AProgramThatDidNotRunDoesNotLoseItsPath) {
  for (const bool answered : {true, false}) {
    ConnectAndUse();
    ASSERT_TRUE(links_[1]->PostRecv(In(1), MakeTag(1), 1).ok());
    for (int i = 0; i < 20; ++i) pair_->Step();
    pair_->fabric().Hold();
    ASSERT_TRUE(links_[0]->PostSend(In(0), MakeTag(1), 1).ok());
    for (int i = 0; i < 3; ++i) pair_->Step();
    if (answered) pair_->fabric().Release();
    for (int hours = 2; hours >= 0; --hours) {
      pair_->transport(0).Progress(Now() - std::chrono::hours(hours));
    }
    for (int i = 0; i < 3; ++i) pair_->Step();
    EXPECT_TRUE(links_[0]->error().ok()) << links_[0]->error().ToString();
    pair_->fabric().Release();
    ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(1) && ended_[1].contains(1); }));
    EXPECT_EQ(ended_[1].at(1), OpResult::kOk);
    EXPECT_EQ(memory_[0], memory_[1]);
    TearDown();
    for (auto& ended : ended_) ended.clear();
  }
}

}  // namespace
}  // namespace reigen::transport::rdma
