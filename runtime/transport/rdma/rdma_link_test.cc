// Goal: whatever the verbs do, a link ends with a named error, gives back every post
// once, and nobody writes to memory that has gone back.
// Method: two hosts over the fake verbs, with one fault each.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "runtime/transport/rdma/testing/rdma_link_fixture.h"
#include "runtime/transport/rdma/words.h"

namespace reigen::transport::rdma {
namespace {

TEST_F(RdmaLinkTest, EveryBadStatusEndsTheLinkAtBothEndsWithItsName) {
  for (int i = 1; i < kWorkStatuses; ++i) {
    const auto status = static_cast<WorkStatus>(i);
    ConnectAndUse();
    device("fake00").next_send_status = status;
    PostLarge(1);
    // The first send of host 0 may be of control or data; either counts.
    ExpectLost(1);
    EXPECT_EQ(links_[0]->error().code(),
              IsLostPath(status) ? StatusCode::kUnavailable : StatusCode::kInternal);
    ExpectText(0, {Name(status), "anna (fake00:1 10.0.0.1)", "bert (fake10:1 10.0.0.2)"});
    ExpectText(1, {"ended by the peer"});
    if (!IsLostPath(status)) ExpectText(0, {"status " + std::to_string(i), "vendor code 77"});
    ExpectNewLinkWorks();
    TearDown();
    ended_[0].clear();
    ended_[1].clear();
  }
}

TEST_F(RdmaLinkTest, WhatEndedBadlyIsNamed) {
  const struct {
    int host;
    bool receive;
    bool credit_is_there;
    const char* what;
  } rows[] = {{1, false, false, "of a control message"},
              {0, true, false, "of a receive of control messages"},
              {0, false, true, "of a write of data"},
              {1, true, true, "of a receive of notices"}};
  for (const auto& row : rows) {
    ConnectAndUse();
    FakeDeviceState& broken = device(DeviceName(row.host, 0));
    if (row.credit_is_there) {
      ASSERT_TRUE(links_[1]->PostRecv(In(1), MakeTag(1), 1).ok());
      for (int i = 0; i < 20; ++i) pair_->Step();
    }
    (row.receive ? broken.next_receive_status : broken.next_send_status) = WorkStatus::kFatal;
    if (!row.credit_is_there) {
      ASSERT_TRUE(links_[1]->PostRecv(In(1), MakeTag(1), 1).ok());
    }
    ASSERT_TRUE(links_[0]->PostSend(In(0), MakeTag(1), 1).ok());
    ASSERT_TRUE(StepUntil([&] { return !links_[0]->error().ok() && !links_[1]->error().ok(); }));
    ExpectText(row.host, {"FATAL_ERR", row.what});
    ExpectNewLinkWorks();
    TearDown();
    for (auto& ended : ended_) ended.clear();
  }
}

// C46
TEST_F(RdmaLinkTest, ACutPathEndsTheTransferWithAnErrorThatNamesIt) {
  ConnectAndUse();
  pair_->fabric().Cut("fake10");
  PostLarge(1);
  ExpectLost(1);
  EXPECT_EQ(ended_[0].at(1), OpResult::kLinkLost);
  EXPECT_EQ(links_[0]->error().code(), StatusCode::kUnavailable);
  pair_->fabric().Mend("fake10");
  ExpectNewLinkWorks();
}

TEST_F(RdmaLinkTest, APostThatIsRefusedEndsTheLink) {
  ConnectAndUse();
  device("fake00").sends_until_post_fails = 0;
  PostLarge(1);
  ExpectLost(1);
  ExpectText(0, {"ibv_post_send"});
  ExpectNewLinkWorks();
}

TEST_F(RdmaLinkTest, AReceiveThatIsRefusedEndsTheLink) {
  ConnectAndUse();
  device("fake10").receives_until_post_fails = 0;
  PostLarge(1);
  ASSERT_TRUE(StepUntil([&] { return !links_[0]->error().ok() && !links_[1]->error().ok(); }));
  ExpectText(1, {"ibv_post_recv"});
  ExpectNewLinkWorks();
}

TEST_F(RdmaLinkTest, FatalAsyncEventsEndTheLinkOthersDoNot) {
  ConnectAndUse();
  for (const AsyncKind kind : {AsyncKind::kPortError, AsyncKind::kPortActive,
                               AsyncKind::kAddressChange, AsyncKind::kOther}) {
    device("fake00").Raise({.kind = kind, .text = "port down or so"});
  }
  device("fake00").Raise({.kind = AsyncKind::kQpError, .text = "of another link", .qp_number = 1});
  Exchange();
  EXPECT_TRUE(links_[0]->error().ok());

  for (const AsyncKind kind : {AsyncKind::kDeviceFatal, AsyncKind::kCqError}) {
    ASSERT_TRUE(links_[1]->PostRecv(In(1), MakeTag(1), 1).ok());
    device("fake00").Raise({.kind = kind,
                            .text = "local catastrophic error",
                            .cq_number = device("fake00").last_completion_queue});
    ASSERT_TRUE(StepUntil([&] { return ended_[1].contains(1); }));
    ExpectText(0, {"local catastrophic error", "anna", "bert"});
    EXPECT_EQ(links_[0]->error().code(), StatusCode::kInternal);
    ExpectNewLinkWorks();
  }
  // The peer's path leads to a queue pair of this link.
  const uint32_t own = device("fake10").paths.back().remote_qp;
  device("fake00").Raise({.kind = AsyncKind::kQpError, .text = "access error", .qp_number = own});
  ASSERT_TRUE(StepUntil([&] { return !links_[0]->error().ok() && !links_[1]->error().ok(); }));
  ExpectText(0, {"access error", "anna", "bert"});
  ExpectText(1, {"access error", "ended by the peer"});
  ExpectNewLinkWorks();
}

// Another link's queues may have the numbers that a link's have on another device.
TEST_F(RdmaLinkTest, AFatalEventOfAQueueEndsTheLinkWhoseQueueItIs) {
  for (const AsyncKind kind : {AsyncKind::kQpError, AsyncKind::kCqError}) {
    Make(/*channels=*/4, /*devices=*/2);
    Connect();
    Exchange();
    AsyncEvent event = {.kind = kind, .text = "access error"};
    event.qp_number = device("fake11").paths.back().remote_qp;  // of fake01
    event.cq_number = device("fake00").last_completion_queue + 1;
    device("fake00").Raise(event);
    Exchange();
    for (int host : {0, 1}) EXPECT_TRUE(links_[host]->error().ok());

    event.cq_number = device("fake01").last_completion_queue;
    device("fake01").Raise(event);
    ASSERT_TRUE(StepUntil([&] { return !links_[0]->error().ok() && !links_[1]->error().ok(); }));
    ExpectText(0, {"access error", "anna (fake01:1 10.0.1.1) -> bert (fake11:1 10.0.1.2)"});
    ExpectNewLinkWorks();
    TearDown();
  }
}

// R7: the receiver has its buffer back, so nothing may be written into it any more,
// though the peer still has a credit and a write on its way.
TEST_F(RdmaLinkTest, AWriteThatComesAfterTheFenceIsDropped) {
  ConnectAndUse();
  PostLarge(1);
  pair_->fabric().Hold();
  for (int i = 0; i < 20; ++i) pair_->Step();
  links_[1]->Close();
  ASSERT_TRUE(StepUntil([&] { return ended_[1].contains(1); }));
  EXPECT_EQ(ended_[1].at(1), OpResult::kCancelled);
  std::fill(memory_[1].begin(), memory_[1].end(), std::byte{9});
  pair_->fabric().Release();
  ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(1); }));
  EXPECT_GT(pair_->fabric().dropped(), 0u);
  EXPECT_TRUE(std::all_of(memory_[1].begin(), memory_[1].end(),
                          [](std::byte byte) { return byte == std::byte{9}; }));
}

// The same at the sender: what it has back may change, and must not be sent changed.
TEST_F(RdmaLinkTest, ABufferThatHasGoneBackIsNotSent) {
  ConnectAndUse();
  PostLarge(1);
  pair_->fabric().Hold();
  for (int i = 0; i < 20; ++i) pair_->Step();
  links_[0]->Close();
  ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(1); }));
  std::fill(memory_[0].begin(), memory_[0].end(), std::byte{9});
  pair_->fabric().Release();
  ASSERT_TRUE(StepUntil([&] { return ended_[1].contains(1); }));
  EXPECT_EQ(ended_[1].at(1), OpResult::kLinkLost);
  EXPECT_EQ(std::count(memory_[1].begin(), memory_[1].end(), std::byte{9}), 0);
}

TEST_F(RdmaLinkTest, ADeviceThatGivesNothingBackIsNotWaitedForForEver) {
  ConnectAndUse();
  ASSERT_TRUE(links_[1]->PostRecv(In(1), MakeTag(1), 1).ok());
  for (int i = 0; i < 10; ++i) pair_->Step();
  device("fake10").deaf = true;
  links_[1]->Close();
  ASSERT_TRUE(StepUntil([&] { return ended_[1].contains(1); }));
  EXPECT_EQ(ended_[1].at(1), OpResult::kCancelled);
}

// A trainer's memory goes while the peer has a credit for it.
TEST_F(RdmaLinkTest, MemoryGivenUpStaysRegisteredUntilItsTransferHasEnded) {
  ConnectAndUse();
  PostLarge(1);
  pair_->fabric().Hold();
  for (int i = 0; i < 20; ++i) pair_->Step();
  const size_t before = device("fake10").registrations;
  regions_[1].reset();
  EXPECT_EQ(device("fake10").registrations, before);
  pair_->fabric().Release();
  ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(1) && ended_[1].contains(1); }));
  EXPECT_EQ(ended_[1].at(1), OpResult::kOk);
  EXPECT_EQ(device("fake10").registrations, before - 1);
}

TEST_F(RdmaLinkTest, MemoryThatIsNotRegisteredEndsTheLinkNotTheProcess) {
  ConnectAndUse();
  std::vector<std::byte> stray(100000);
  ASSERT_TRUE(links_[1]->PostRecv(stray, MakeTag(1), 1).ok());
  ASSERT_TRUE(links_[0]->PostSend(In(0).first(stray.size()), MakeTag(1), 1).ok());
  ExpectLost(1);
  ExpectText(1, {"not registered", "anna", "bert"});
}

// A sender that waits long asks with a frame; its data must not come before that.
TEST_F(RdmaLinkTest, ALateReceiveIsServedThoughItsSenderHasAsked) {
  ConnectAndUse();
  ASSERT_TRUE(links_[0]->PostSend(In(0), MakeTag(1), 1).ok());
  const Time until = Now() + milliseconds(600);
  StepUntil([&] { return Now() > until; });
  ASSERT_TRUE(links_[1]->PostRecv(In(1), MakeTag(1), 1).ok());
  ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(1) && ended_[1].contains(1); }));
  EXPECT_EQ(ended_[1].at(1), OpResult::kOk);
  EXPECT_EQ(memory_[0], memory_[1]);
  Exchange();
}

// An acknowledgement says that the other end's card took the data, and a completion of one queue
// pair says nothing of what another one, perhaps of another card, has written.
TEST_F(RdmaLinkTest, WhatIsAnnouncedHasLandedOnceEachQueueOfItHasSaidSo) {
  for (const char* slow : {"fake10", "fake11"}) {
    for (const bool before_it_asks : {false, true}) {
      Make(/*channels=*/4, /*devices=*/2);
      Connect();
      Exchange();
      if (before_it_asks) device(slow).withhold = true;
      ASSERT_TRUE(links_[0]->PostSend(In(0), MakeTag(1), 1).ok());
      const Time until = Now() + milliseconds(600);
      StepUntil([&] { return Now() > until; });
      device(slow).withhold = true;
      ASSERT_TRUE(links_[1]->PostRecv(In(1), MakeTag(1), 1).ok());
      ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(1); })) << "it has written all";
      for (int i = 0; i < 20; ++i) pair_->Step();
      Poll(1);
      EXPECT_FALSE(ended_[1].contains(1)) << slow;
      device(slow).withhold = false;
      ASSERT_TRUE(StepUntil([&] { return ended_[1].contains(1); }));
      EXPECT_EQ(ended_[1].at(1), OpResult::kOk);
      EXPECT_EQ(memory_[0], memory_[1]) << slow;
      for (auto& ended : ended_) ended.clear();
      Exchange();
      TearDown();
    }
  }
}

// At the end of a job it is the rule; the coordinator says when a peer was lost.
TEST_F(RdmaLinkTest, OnlyALinkWithSomethingUnderWayIsLostWhenThePeerCloses) {
  for (const bool under_way : {false, true}) {
    ConnectAndUse();
    if (under_way) {
      ASSERT_TRUE(links_[1]->PostRecv(In(1), MakeTag(1), 1).ok());
      for (int i = 0; i < 5; ++i) pair_->Step();
    }
    testing::internal::CaptureStdout();  // where the log goes in a test
    links_[0].reset();
    StepUntil([&] { return !links_[1]->error().ok(); });
    StepUntil([&] { return device("fake10").queue_pairs == 0; });
    const std::string log = testing::internal::GetCapturedStdout();
    EXPECT_EQ(log.find("link lost") != std::string::npos, under_way) << log;
    EXPECT_EQ(log.find("link closed") != std::string::npos, !under_way) << log;
    ExpectText(1, {"closed by the peer", "anna", "bert"});
    TearDown();
    for (auto& ended : ended_) ended.clear();
  }
}

// C45
TEST_F(RdmaLinkTest, ThePathHasTheSmallerMtuAndFiniteRetries) {
  Make();
  device("fake10").info.ports[0].active_mtu_bytes = 1024;
  Connect();
  Exchange();
  for (const char* name : {"fake00", "fake10"}) {
    ASSERT_FALSE(device(name).paths.empty());
    for (const PathAttributes& path : device(name).paths) {
      EXPECT_EQ(path.mtu_bytes, 1024u);
      EXPECT_EQ(path.gid_index, 1) << "not the link-local one";
      EXPECT_TRUE(path.global);
      EXPECT_EQ(path.retries, 6);
      EXPECT_EQ(path.timeout_exponent, 17);
      EXPECT_LT(path.rnr_retries, 7);
    }
  }
}

// Whichever end has it, and whatever the pieces would be.
TEST_F(RdmaLinkTest, NoWriteIsLongerThanTheSmallerEndsMaximum) {
  for (const char* name : {"fake00", "fake10"}) {
    for (const uint32_t most : {32u << 10, 1000003u}) {
      Make();
      device(name).info.ports[0].max_message_bytes = most;
      Connect();
      for (const size_t bytes : {size_t{most}, size_t{most} + 1, kBytes}) {
        const uint64_t id = next_++;
        PostLarge(id, std::min(bytes, kBytes));
        ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(id) && ended_[1].contains(id); }))
            << links_[0]->error().ToString();
        EXPECT_EQ(ended_[1].at(id), OpResult::kOk) << links_[0]->error().ToString();
      }
      EXPECT_EQ(memory_[0], memory_[1]);
      TearDown();
      for (auto& ended : ended_) ended.clear();
    }
  }
}

// Data may be seen in any order before its notice; credits and frames may not.
TEST_F(RdmaLinkTest, DataMemoryIsRelaxedControlMemoryIsStrict) {
  ConnectAndUse();
  for (const char* name : {"fake00", "fake10"}) {
    EXPECT_EQ(device(name).accesses, (std::vector<Access>{Access::kRelaxed, Access::kLocal}))
        << "data of the test, then the link's control queue";
  }
  TearDown();
  RdmaOptions strict;
  strict.relaxed_ordering = false;
  pair_ = std::make_unique<FakeRdmaPair>(1, 1, 1, strict);
  regions_[0] = std::move(pair_->transport(0).Register(memory_[0])).value();
  EXPECT_EQ(device("fake00").accesses, std::vector<Access>{Access::kRemote});
}

// C45: refused where the port takes less, taken where it is enough.
TEST_F(RdmaLinkTest, AFixedMtuHoldsAtBothEnds) {
  RdmaOptions options;
  options.wish.mtu_bytes = 512;
  pair_ = std::make_unique<FakeRdmaPair>(1, 1, 1, options);
  for (int host : {0, 1}) {
    memory_[host].assign(kBytes, std::byte{1});
    regions_[host] = std::move(pair_->transport(host).Register(memory_[host])).value();
  }
  Connect();
  Exchange();
  for (const char* name : {"fake00", "fake10"}) {
    for (const PathAttributes& path : device(name).paths) EXPECT_EQ(path.mtu_bytes, 512u);
  }
}

TEST_F(RdmaLinkTest, EveryQueuePairHasItsPortsPartitionAndTheServiceAskedFor) {
  Make(/*channels=*/4, /*devices=*/2, MarkedOptions());
  MarkPkeys(2);
  Connect();
  Exchange();
  ExpectMarked(2, 2);
}

TEST_F(RdmaLinkTest, AfterAFlapTheAddressIsReadAgain) {
  ConnectAndUse();
  auto& gids = device("fake00").info.ports[0].gids;
  gids = {{0, *GidOfAddress("fe80::1"), GidType::kRoceV2},
          {5, *GidOfAddress("10.0.0.77"), GidType::kRoceV2}};
  device("fake00").Raise({.kind = AsyncKind::kAddressChange, .text = "GID table change"});
  ExpectNewLinkWorks();
  EXPECT_EQ(device("fake00").paths.back().gid_index, 5);
  EXPECT_EQ(ToString(device("fake10").paths.back().remote_gid), "10.0.0.77");
}

// Peers were told RoCE v2 over IPv4; an IPv4 address that is there again later has its GID then.
TEST_F(RdmaLinkTest, AnAddressOfAnotherFamilyIsNotTakenInTheMiddleOfAFlap) {
  ConnectAndUse();
  std::vector<GidEntry>& gids = device("fake10").info.ports[0].gids;
  const std::vector<GidEntry> before = gids;
  gids = {{0, *GidOfAddress("fe80::1"), GidType::kRoceV2}, {1, *GidOfAddress("fd00::1"), GidType::kRoceV2}};
  for (int host : {0, 1}) links_[host].reset();
  Connect();
  for (int i = 0; i < 50; ++i) pair_->Step();
  for (int host : {0, 1}) EXPECT_TRUE(links_[host]->error().ok()) << links_[host]->error().ToString();
  gids = before;
  Exchange();
  EXPECT_EQ(ToString(device("fake00").paths.back().remote_gid), "10.0.0.2");
}

// Peers send to the one that a link was made with.
TEST_F(RdmaLinkTest, AnAddressStaysThePortsThoughAnotherIsThereTooNow) {
  ConnectAndUse();
  std::vector<GidEntry>& gids = device("fake10").info.ports[0].gids;
  gids = {{1, *GidOfAddress("10.9.9.9"), GidType::kRoceV2}, {4, *GidOfAddress("10.0.0.2"), GidType::kRoceV2}};
  ExpectNewLinkWorks();
  EXPECT_EQ(device("fake10").paths.back().gid_index, 4);
  EXPECT_EQ(ToString(device("fake00").paths.back().remote_gid), "10.0.0.2");
}

TEST_F(RdmaLinkTest, QueuesThatCannotBeMadeOrConnectedAreAnErrorAtBothEnds) {
  Make();
  device("fake00").next_queue_pair_status = ResourceExhausted("ibv_create_qp: no room");
  Connect();
  ASSERT_TRUE(StepUntil([&] { return !links_[0]->error().ok() && !links_[1]->error().ok(); }));
  ExpectText(0, {"no room"});
  ExpectText(1, {"no room"});
  ExpectNewLinkWorks();
  for (int host : {0, 1}) links_[host].reset();
  device("fake10").next_connect_status = Unavailable("ibv_modify_qp to RTR: unreachable");
  Connect();
  ASSERT_TRUE(StepUntil([&] { return !links_[0]->error().ok() && !links_[1]->error().ok(); }));
  ExpectText(1, {"unreachable", "10.0.0.1"});
  ExpectNewLinkWorks();
}

// C43, the limit hit later: whichever registration is the one that fails, posts end at both
// ends, rightly or with words, and what was registered before goes on working.
TEST_F(RdmaLinkTest, ARegistrationThatFailsLaterEndsPostsAtBothEndsWithWords) {
  Make();
  for (size_t until_full : {0, 1}) {
    Connect();
    device("fake10").registers_until_full = until_full;
    const uint64_t id = 1 + until_full;
    PostLarge(id);
    ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(id) && ended_[1].contains(id); }));
    const bool right = until_full == 1;  // the link's own memory was the last that fitted
    EXPECT_EQ(ended_[1].at(id), right ? OpResult::kOk : OpResult::kLinkLost);
    EXPECT_EQ(ended_[0].at(id), ended_[1].at(id));
    if (right) {
      std::vector<std::byte> more(kBytes);
      const Status late = pair_->transport(1).Register(more).status();
      EXPECT_EQ(late.code(), StatusCode::kResourceExhausted);
      EXPECT_NE(late.ToString().find("ibv_reg_mr"), std::string::npos) << late.ToString();
      Exchange();
      EXPECT_EQ(memory_[0], memory_[1]);
    } else {
      for (int host : {0, 1}) ExpectText(host, {"anna", "bert", "ibv_reg_mr"});
    }
    for (int host : {0, 1}) {
      links_[host].reset();
      ended_[host].clear();
    }
  }
  device("fake10").registers_until_full.reset();
  ExpectNewLinkWorks();
}

// Peers were told its kind, and choose a link's transport by it.
TEST_F(RdmaLinkTest, APortWhoseKindChangesIsToldAsTheOneItWas) {
  RdmaOptions options;
  options.connect_deadline = seconds(3);
  Make(/*channels=*/2, /*devices=*/1, options);
  Connect();
  Exchange();
  const std::vector<std::string> told = pair_->transport(1).addresses();
  for (int host : {0, 1}) links_[host].reset();
  GidEntry& gid = device("fake10").info.ports[0].gids.back();  // that is chosen
  const GidType before = std::exchange(gid.type, GidType::kRoceV1);
  Connect();
  ASSERT_TRUE(StepUntil([&] { return !links_[0]->error().ok() && !links_[1]->error().ok(); }));
  ExpectText(1, {"fake10:1 has no address for RoCE v2 over IPv4 any more"});
  EXPECT_EQ(pair_->transport(1).addresses(), told);
  gid.type = before;
  ExpectNewLinkWorks();
}

TEST_F(RdmaLinkTest, SeveralDevicesCarryOneMessage) {
  Make(/*channels=*/4, /*devices=*/2);
  Connect();
  PostLarge(1);
  ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(1) && ended_[1].contains(1); }));
  EXPECT_EQ(memory_[0], memory_[1]);
  for (const char* name : {"fake00", "fake01", "fake10", "fake11"}) {
    EXPECT_GE(device(name).paths.size(), 2u) << name;
  }
  uint64_t wrote = 0;
  for (const char* name : {"fake00", "fake01"}) {
    EXPECT_GE(device(name).wrote_bytes, kBytes / 4) << name;
    wrote += device(name).wrote_bytes;
  }
  EXPECT_EQ(wrote, kBytes);
}

// A device has one descriptor for events of all its ports.
TEST_F(RdmaLinkTest, TwoPortsOfOneDeviceCarryALinkAndBothHearOfItsEnd) {
  Make(/*channels=*/2, /*devices=*/1, {}, /*ports=*/2);
  Connect();
  PostLarge(1);
  ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(1) && ended_[1].contains(1); }));
  EXPECT_EQ(memory_[0], memory_[1]);
  EXPECT_EQ(pair_->transport(0).devices(), std::vector<std::string>{"fake00"});
  for (const char* name : {"fake00", "fake10"}) {
    std::map<int, int> queues_by_port;
    for (const PathAttributes& path : device(name).paths) ++queues_by_port[path.port];
    EXPECT_EQ(queues_by_port, (std::map<int, int>{{1, 2}, {2, 1}})) << name << ": control on 1";
    EXPECT_EQ(device(name).registrations, 2u) << "of the test's memory and the control queue";
  }
  testing::internal::CaptureStdout();  // where the log goes in a test
  device("fake00").Raise({.kind = AsyncKind::kPortError, .text = "port error", .port = 2});
  device("fake00").Raise({.kind = AsyncKind::kPortError, .text = "of no link", .port = 3});
  Exchange();
  const std::string log = testing::internal::GetCapturedStdout();
  EXPECT_NE(log.find("fake00:2"), std::string::npos) << log;
  EXPECT_EQ(log.find("fake00:1"), std::string::npos) << log;
  EXPECT_EQ(log.find("of no link"), std::string::npos) << log;
  device("fake00").Raise({.kind = AsyncKind::kDeviceFatal, .text = "device fatal"});
  ASSERT_TRUE(StepUntil([&] { return !links_[0]->error().ok() && !links_[1]->error().ok(); }));
  ExpectText(0, {"device fatal"});
  ExpectNewLinkWorks();
}

// C47
TEST(RdmaTransportTest, NoRdmaHereIsSaidInWords) {
  RdmaOptions options;
  options.job = "job";
  options.secret = "secret";
  options.name = "anna";
  options.bind_addresses = {"127.0.0.1"};
  FakeFabric fabric;
  EXPECT_EQ(RdmaTransport::Create(options, fabric.VerbsOf(0)).status().code(),
            StatusCode::kNotFound);
  FakeDeviceState& device = fabric.AddDevice(0, "mlx5_0", "10.0.0.1");
  device.open_status = Unavailable("ibv_open_device mlx5_0: No such file or directory");
  const Status closed = RdmaTransport::Create(options, fabric.VerbsOf(0)).status();
  EXPECT_NE(closed.ToString().find("/dev/infiniband"), std::string::npos) << closed.ToString();
  device.open_status = OkStatus();
  device.info.max_qp_wrs = 100;
  const Status small = RdmaTransport::Create(options, fabric.VerbsOf(0)).status();
  EXPECT_NE(small.ToString().find("100 requests"), std::string::npos) << small.ToString();
  device.info.max_qp_wrs = 2000;  // fewer receives than a link has posts
  const auto made = RdmaTransport::Create(options, fabric.VerbsOf(0));
  EXPECT_TRUE(made.ok()) << made.status().ToString();
}

}  // namespace
}  // namespace reigen::transport::rdma
