// Goal: the protocol's rules at the level of single frames: what is sent when, and
// that a peer that breaks them is refused.
// Method: one core against frames written by hand; what two cores do together is
// in the conformance suite.
#include "runtime/transport/link_core.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "runtime/transport/link_limits.h"

namespace reigen::transport {
namespace {

Tag T(uint64_t sequence, uint32_t stream = 0) {
  return {.collective = {.epoch = 1, .sequence = sequence, .stream = stream}};
}

Frame F(FrameKind kind, const Tag& tag, uint64_t length) {
  Frame frame;
  frame.kind = kind;
  frame.tag = tag;
  frame.length = length;
  return frame;
}

class LinkCoreTest : public testing::Test {
 protected:
  static constexpr uint64_t kLarge = 10000;

  void Send(uint64_t id, size_t bytes) {
    ASSERT_TRUE(core_.PostSend(std::span(out_).first(bytes), T(id), id).ok());
  }
  void Recv(uint64_t id, size_t bytes) {
    ASSERT_TRUE(core_.PostRecv(std::span(in_).first(bytes), T(id), id).ok());
  }
  // A frame from the peer; its payload arrives at once.
  Status Arrive(const Frame& frame) {
    auto into = core_.OnFrame(frame);
    if (!into.ok()) return into.status();
    EXPECT_EQ(into->size(), frame.PayloadBytes());
    for (std::byte& b : *into) b = std::byte{0x5a};
    if (!into->empty()) core_.OnPayload(frame);
    return OkStatus();
  }
  // What the core writes next; none expected if kind is missing.
  std::optional<Frame> Next(bool channel_zero = true) {
    const auto out = core_.NextFrame(channel_zero);
    if (!out) return std::nullopt;
    core_.OnSent(out->frame);
    return out->frame;
  }
  std::optional<OpResult> Polled(uint64_t cookie) {
    std::array<Completion, 1> done;
    if (core_.Poll(done) == 0) return std::nullopt;
    EXPECT_EQ(done[0].cookie, cookie);
    return done[0].result;
  }
  void ExpectNext(FrameKind kind, uint64_t id, uint64_t length) {
    const std::optional<Frame> frame = Next();
    ASSERT_TRUE(frame.has_value());
    EXPECT_EQ(frame->kind, kind);
    EXPECT_EQ(frame->tag, T(id));
    EXPECT_EQ(frame->length, length);
  }
  void ExpectRefused(const Frame& frame, const std::string& why) {
    const Status status = Arrive(frame);
    EXPECT_NE(status.ToString().find(why), std::string::npos) << status.ToString();
  }

  LinkCore core_{"bert"};
  std::vector<std::byte> out_ = std::vector<std::byte>(kLarge);
  std::vector<std::byte> in_ = std::vector<std::byte>(kLarge);
};

TEST_F(LinkCoreTest, LargeDataGoesOnlyAgainstACredit) {
  Send(1, kLarge);
  EXPECT_FALSE(core_.HasOutput(true));
  ASSERT_TRUE(Arrive(F(FrameKind::kCredit, T(1), kLarge)).ok());
  ExpectNext(FrameKind::kData, 1, kLarge);
  EXPECT_EQ(Polled(1), OpResult::kOk);
}

TEST_F(LinkCoreTest, ACreditThatCameFirstIsKept) {
  ASSERT_TRUE(Arrive(F(FrameKind::kCredit, T(1), kLarge)).ok());
  Send(1, kLarge);
  ExpectNext(FrameKind::kData, 1, kLarge);
}

TEST_F(LinkCoreTest, ALargeReceiveGivesACreditAndASmallOneDoesNot) {
  Recv(1, kEagerBytes);
  EXPECT_FALSE(core_.HasOutput(true));
  Recv(2, kEagerBytes + 1);
  ExpectNext(FrameKind::kCredit, 2, kEagerBytes + 1);
}

TEST_F(LinkCoreTest, AnEagerMessageLandsInThePostedBuffer) {
  Recv(1, 100);
  const auto into = core_.OnFrame(F(FrameKind::kEager, T(1), 100));
  ASSERT_TRUE(into.ok());
  EXPECT_EQ(into->data(), in_.data());
  EXPECT_EQ(Polled(1), std::nullopt);
  core_.OnPayload(F(FrameKind::kEager, T(1), 100));
  EXPECT_EQ(Polled(1), OpResult::kOk);
}

// What the CPU may not touch goes against a credit, whatever its length.
TEST_F(LinkCoreTest, AShortSendFromADeviceAsksForACredit) {
  ASSERT_TRUE(core_.PostSend(std::span(out_).first(100), T(1), 1, Owner::kDevice).ok());
  ExpectNext(FrameKind::kRts, 1, 100);
  EXPECT_FALSE(core_.HasOutput(true));
  ASSERT_TRUE(Arrive(F(FrameKind::kCredit, T(1), 100)).ok());
  const auto out = core_.NextFrame(/*channel_zero=*/true);
  ASSERT_TRUE(out.has_value());
  EXPECT_EQ(out->frame.kind, FrameKind::kData);
  EXPECT_EQ(out->owner, Owner::kDevice);
  EXPECT_FALSE(out->pinned) << "its RTS is answered";
  core_.OnSent(out->frame);
  EXPECT_EQ(Polled(1), OpResult::kOk);
  ASSERT_TRUE(core_.PostSend({}, T(2), 2, Owner::kDevice).ok());
  ExpectNext(FrameKind::kEager, 2, 0);
}

// The message first, the receive first, the receive while it comes.
TEST_F(LinkCoreTest, AnEagerMessageForADeviceIsPlacedByTheShell) {
  std::byte* const device = in_.data();
  const auto receive = [&](uint64_t id) {
    ASSERT_TRUE(core_.PostRecv({device, 100}, T(id), id, Owner::kDevice).ok());
  };
  for (uint64_t id : {1, 2, 3}) {
    in_.assign(in_.size(), std::byte{0});
    if (id == 1) receive(id);
    const Frame frame = F(FrameKind::kEager, T(id), 100);
    const auto into = core_.OnFrame(frame);
    ASSERT_TRUE(into.ok() && into->size() == 100);
    EXPECT_NE(into->data(), device);
    if (id == 2) receive(id);
    (*into)[99] = std::byte{7};
    core_.OnPayload(frame);
    if (id == 3) receive(id);
    const auto placements = core_.TakePlacements();
    ASSERT_EQ(placements.size(), 1u) << id;
    EXPECT_EQ(placements[0].tag, T(id));
    EXPECT_EQ(placements[0].to.data(), device);
    EXPECT_EQ(placements[0].from[99], std::byte{7});
    EXPECT_EQ(in_[99], std::byte{0}) << "touched";
    EXPECT_TRUE(core_.TakePlacements().empty());
    EXPECT_EQ(Polled(id), std::nullopt);
    ExpectRefused(F(FrameKind::kRts, T(id), 100), "what is being sent");
    core_.OnPlaced(T(id));
    EXPECT_EQ(Polled(id), OpResult::kOk);
  }
}

// Its slot is the sender's again only then.
TEST_F(LinkCoreTest, WhatIsNotPlacedHoldsItsSlot) {
  for (uint64_t id = 0; id < kEagerSlots; ++id) {
    ASSERT_TRUE(core_.PostRecv(std::span(in_).first(8), T(id), id, Owner::kDevice).ok());
    ASSERT_TRUE(Arrive(F(FrameKind::kEager, T(id), 8)).ok());
  }
  EXPECT_FALSE(core_.HasOutput(true)) << "an acknowledgement";
  ExpectRefused(F(FrameKind::kEager, T(100), 8), "more than 16");
  EXPECT_EQ(core_.TakePlacements().size(), kEagerSlots);
  for (uint64_t id = 0; id < kEagerSlots; ++id) core_.OnPlaced(T(id));
  const std::optional<Frame> frame = Next();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->kind, FrameKind::kAck);
  EXPECT_EQ(frame->acks, kEagerSlots);
}

TEST_F(LinkCoreTest, AnEagerMessageOfAnotherLengthForADeviceIsAMismatch) {
  ASSERT_TRUE(core_.PostRecv(std::span(in_).first(9), T(1), 1, Owner::kDevice).ok());
  ASSERT_TRUE(Arrive(F(FrameKind::kEager, T(1), 8)).ok());
  EXPECT_EQ(Polled(1), OpResult::kPlanMismatch);
  EXPECT_TRUE(core_.TakePlacements().empty());
}

TEST_F(LinkCoreTest, AReceivePostedWhileItsMessageArrivesGetsIt) {
  const Frame frame = F(FrameKind::kEager, T(1), 100);
  const auto into = core_.OnFrame(frame);
  ASSERT_TRUE(into.ok());
  Recv(1, 100);
  EXPECT_EQ(Polled(1), std::nullopt);
  (*into)[99] = std::byte{42};
  core_.OnPayload(frame);
  EXPECT_EQ(Polled(1), OpResult::kOk);
  EXPECT_EQ(in_[99], std::byte{42});
}

TEST_F(LinkCoreTest, WithoutASlotASmallMessageAsksAndWaitsForACredit) {
  for (uint64_t id = 0; id <= kEagerSlots; ++id) Send(id, 8);
  EXPECT_EQ(Next()->kind, FrameKind::kRts);
  for (uint64_t id = 0; id < kEagerSlots; ++id) ExpectNext(FrameKind::kEager, id, 8);
  EXPECT_FALSE(core_.HasOutput(true));
  ASSERT_TRUE(Arrive(F(FrameKind::kCredit, T(kEagerSlots), 8)).ok());
  ExpectNext(FrameKind::kData, kEagerSlots, 8);
}

TEST_F(LinkCoreTest, WhatFollowsARequestToSendStaysOnItsChannel) {
  for (uint64_t id = 0; id <= kEagerSlots; ++id) Send(id, 8);
  for (uint64_t id = 0; id < kEagerSlots; ++id) EXPECT_EQ(Next(false)->kind, FrameKind::kEager);
  EXPECT_EQ(Next(false), std::nullopt);
  EXPECT_EQ(Next(true)->kind, FrameKind::kRts);
  ASSERT_TRUE(Arrive(F(FrameKind::kCredit, T(kEagerSlots), 8)).ok());
  EXPECT_FALSE(core_.HasOutput(false));
  EXPECT_EQ(Next(true)->kind, FrameKind::kData);
}

TEST_F(LinkCoreTest, ARequestToSendGetsItsCreditWheneverTheReceiveComes) {
  ASSERT_TRUE(Arrive(F(FrameKind::kRts, T(1), 8)).ok());
  EXPECT_FALSE(core_.HasOutput(true));
  Recv(1, 8);
  ExpectNext(FrameKind::kCredit, 1, 8);
  Recv(2, 8);
  ASSERT_TRUE(Arrive(F(FrameKind::kRts, T(2), 8)).ok());
  ExpectNext(FrameKind::kCredit, 2, 8);
  ASSERT_TRUE(Arrive(F(FrameKind::kData, T(1), 8)).ok());
  EXPECT_EQ(Polled(1), OpResult::kOk);
}

TEST_F(LinkCoreTest, ConsumptionIsAcknowledgedByTheNextFrame) {
  Recv(1, 8);
  ASSERT_TRUE(Arrive(F(FrameKind::kEager, T(1), 8)).ok());
  EXPECT_FALSE(core_.HasOutput(true)) << "one alone waits for a frame to carry it";
  Send(2, 8);
  const std::optional<Frame> frame = Next();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->acks, 1);
  EXPECT_EQ(frame->ack_stream, 0u);
}

TEST_F(LinkCoreTest, ManyConsumedMessagesAreAcknowledgedAtOnce) {
  for (uint64_t id = 0; id < kAckAtLeast; ++id) {
    Recv(id, 8);
    ASSERT_TRUE(Arrive(F(FrameKind::kEager, T(id), 8)).ok());
  }
  const std::optional<Frame> frame = Next();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->kind, FrameKind::kAck);
  EXPECT_EQ(frame->acks, kAckAtLeast);
}

TEST_F(LinkCoreTest, AMessageThatNobodyWantsYetKeepsItsSlot) {
  for (uint64_t id = 0; id < kEagerSlots; ++id) {
    ASSERT_TRUE(Arrive(F(FrameKind::kEager, T(id), 8)).ok());
  }
  EXPECT_FALSE(core_.HasOutput(true));
  ExpectRefused(F(FrameKind::kEager, T(99), 8), "more than 16 eager messages of stream 0");
}

TEST_F(LinkCoreTest, ASenderThatWaitsLongAsks) {
  Send(1, kLarge);
  const Time start = Time{} + seconds(1);
  core_.Tick(start);
  EXPECT_EQ(core_.NextDeadline(), start + kAskForCreditAfter);
  core_.Tick(start + kAskForCreditAfter);
  EXPECT_FALSE(core_.HasOutput(true)) << "it has been seen waiting only once";
  core_.Tick(start + 2 * kAskForCreditAfter);
  ExpectNext(FrameKind::kRts, 1, kLarge);
  core_.Tick(start + 3 * kAskForCreditAfter);
  EXPECT_EQ(core_.NextDeadline(), std::nullopt);
}

TEST_F(LinkCoreTest, ACreditOfAnotherLengthEndsTheSendAndIsReported) {
  Send(1, kLarge);
  ASSERT_TRUE(Arrive(F(FrameKind::kCredit, T(1), kLarge + 1)).ok());
  EXPECT_EQ(Polled(1), OpResult::kPlanMismatch);
  ExpectNext(FrameKind::kSendMismatch, 1, kLarge);
  const std::vector<std::string> notices = core_.TakeNotices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].find("with bert"), std::string::npos) << notices[0];
  EXPECT_NE(notices[0].find("10000 bytes sent here, 10001 expected there"), std::string::npos);
}

TEST_F(LinkCoreTest, AnEagerMessageOfAnotherLengthEndsTheReceiveAndLeavesTheBuffer) {
  Recv(1, 8);
  ASSERT_TRUE(Arrive(F(FrameKind::kEager, T(1), 9)).ok());
  EXPECT_EQ(Polled(1), OpResult::kPlanMismatch);
  EXPECT_EQ(in_[0], std::byte{0});
  const std::optional<Frame> frame = Next();
  EXPECT_EQ(frame->kind, FrameKind::kRecvMismatch);
  EXPECT_EQ(frame->acks, 1) << "its slot is free again";
}

TEST_F(LinkCoreTest, TheReceiversMismatchEndsAWaitingSend) {
  Send(1, kLarge);
  ASSERT_TRUE(Arrive(F(FrameKind::kRecvMismatch, T(1), 8)).ok());
  EXPECT_EQ(Polled(1), OpResult::kPlanMismatch);
  ASSERT_TRUE(Arrive(F(FrameKind::kRecvMismatch, T(1), 8)).ok()) << "known already";
}

TEST_F(LinkCoreTest, TheSendersMismatchEndsACreditedReceive) {
  Recv(1, kLarge);
  ASSERT_TRUE(Arrive(F(FrameKind::kSendMismatch, T(1), 5)).ok());
  EXPECT_EQ(Polled(1), OpResult::kPlanMismatch);
}

TEST_F(LinkCoreTest, DataWithoutACreditIsRefused) {
  ExpectRefused(F(FrameKind::kData, T(1), 8), "without a credit");
  Recv(2, kLarge);
  ExpectRefused(F(FrameKind::kData, T(2), kLarge - 1), "without a credit");
  Recv(3, 8);
  ExpectRefused(F(FrameKind::kData, T(3), 8), "without a credit");
}

TEST_F(LinkCoreTest, WhatAPeerMaySayOnceIsRefusedTheSecondTime) {
  ASSERT_TRUE(Arrive(F(FrameKind::kCredit, T(1), 8)).ok());
  ExpectRefused(F(FrameKind::kCredit, T(1), 8), "a second credit");
  ASSERT_TRUE(Arrive(F(FrameKind::kRts, T(1), 8)).ok());
  ExpectRefused(F(FrameKind::kRts, T(1), 8), "a second request to send");
  ASSERT_TRUE(Arrive(F(FrameKind::kEager, T(2), 8)).ok());
  ExpectRefused(F(FrameKind::kEager, T(2), 8), "sent twice");
}

TEST_F(LinkCoreTest, FramesInTheMidstOfATransferAreRefused) {
  Recv(1, kLarge);
  ASSERT_TRUE(core_.OnFrame(F(FrameKind::kData, T(1), kLarge)).ok());
  ExpectRefused(F(FrameKind::kData, T(1), kLarge), "without a credit");
  ExpectRefused(F(FrameKind::kEager, T(1), 8), "although a credit was given");
  ExpectRefused(F(FrameKind::kRts, T(1), kLarge), "what is being sent");
  ExpectRefused(F(FrameKind::kSendMismatch, T(1), kLarge), "with no credit");
}

TEST_F(LinkCoreTest, MoreOpenRequestsThanPostsAreRefused) {
  for (uint64_t id = 0; id < kMaxPosts; ++id) {
    ASSERT_TRUE(Arrive(F(FrameKind::kCredit, T(id), 8)).ok());
    ASSERT_TRUE(Arrive(F(FrameKind::kRts, T(id), 8)).ok());
  }
  ExpectRefused(F(FrameKind::kCredit, T(kMaxPosts), 8), "credits open");
  ExpectRefused(F(FrameKind::kRts, T(kMaxPosts), 8), "requests to send open");
}

TEST_F(LinkCoreTest, AcknowledgementsOfNothingAreRefused) {
  Frame frame = F(FrameKind::kAck, T(0), 0);
  frame.acks = 1;
  ExpectRefused(frame, "acknowledges 1 eager messages");
}

TEST_F(LinkCoreTest, TheFirstEndCountsAndEveryPostEndsOnce) {
  Send(1, kLarge);
  core_.Fail(Unavailable("gone"));
  core_.Close();
  EXPECT_EQ(core_.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(Polled(1), OpResult::kLinkLost);
  EXPECT_EQ(Polled(1), std::nullopt);
  Recv(2, 8);
  EXPECT_EQ(Polled(2), OpResult::kLinkLost);
  EXPECT_FALSE(Arrive(F(FrameKind::kCredit, T(1), kLarge)).ok());
}

}  // namespace
}  // namespace reigen::transport
