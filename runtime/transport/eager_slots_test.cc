#include "runtime/transport/eager_slots.h"

#include <gtest/gtest.h>

#include "runtime/transport/link_limits.h"

namespace reigen::transport {
namespace {

TEST(SlotsOutTest, AStreamHasItsSlotsAndGetsThemBack) {
  SlotsOut slots;
  for (uint32_t i = 0; i < kEagerSlots; ++i) EXPECT_TRUE(slots.Take(3));
  EXPECT_FALSE(slots.Take(3));
  EXPECT_TRUE(slots.Take(4)) << "another stream has its own";
  EXPECT_TRUE(slots.Acknowledge(3, 2).ok());
  EXPECT_TRUE(slots.Take(3));
  EXPECT_TRUE(slots.Take(3));
  EXPECT_FALSE(slots.Take(3));
}

TEST(SlotsOutTest, MoreAcknowledgementsThanMessagesAreRefused) {
  SlotsOut slots;
  EXPECT_TRUE(slots.Acknowledge(9, 0).ok());
  EXPECT_FALSE(slots.Acknowledge(9, 1).ok());
  EXPECT_TRUE(slots.Take(9));
  EXPECT_FALSE(slots.Acknowledge(9, 2).ok());
  EXPECT_TRUE(slots.Acknowledge(9, 1).ok());
}

TEST(SlotsOutTest, StreamsBeyondTheLimitHaveNoSlots) {
  SlotsOut slots;
  for (uint32_t stream = 0; stream < kMaxEagerStreams; ++stream) EXPECT_TRUE(slots.Take(stream));
  EXPECT_FALSE(slots.Take(kMaxEagerStreams));
  EXPECT_TRUE(slots.Acknowledge(0, 1).ok());
  EXPECT_TRUE(slots.Take(kMaxEagerStreams)) << "a stream without messages takes no place";
}

TEST(SlotsInTest, ASlotIsFreeOnlyOnceItIsAcknowledged) {
  SlotsIn slots;
  for (uint32_t i = 0; i < kEagerSlots; ++i) EXPECT_TRUE(slots.Occupy(3).ok());
  EXPECT_FALSE(slots.Occupy(3).ok());
  slots.Consume(3);
  EXPECT_FALSE(slots.Occupy(3).ok()) << "the sender cannot know yet";
  const SlotsIn::Acks acks = slots.TakeAcks();
  EXPECT_EQ(acks.stream, 3u);
  EXPECT_EQ(acks.count, 1u);
  EXPECT_EQ(slots.TakeAcks().count, 0u);
  EXPECT_TRUE(slots.Occupy(3).ok());
}

TEST(SlotsInTest, HalfOfTheSlotsMakesAnAcknowledgementDue) {
  SlotsIn slots;
  for (uint32_t i = 0; i < kAckAtLeast; ++i) {
    EXPECT_FALSE(slots.due());
    EXPECT_TRUE(slots.Occupy(3).ok());
    slots.Consume(3);
  }
  EXPECT_TRUE(slots.due());
  EXPECT_EQ(slots.TakeAcks().count, kAckAtLeast);
  EXPECT_FALSE(slots.due());
}

TEST(SlotsInTest, EachStreamIsAcknowledgedForItself) {
  SlotsIn slots;
  for (uint32_t stream : {5u, 6u, 5u}) EXPECT_TRUE(slots.Occupy(stream).ok());
  for (uint32_t stream : {5u, 6u, 5u}) slots.Consume(stream);
  const SlotsIn::Acks first = slots.TakeAcks();
  const SlotsIn::Acks second = slots.TakeAcks();
  EXPECT_EQ(first.stream, 5u);
  EXPECT_EQ(first.count, 2u);
  EXPECT_EQ(second.stream, 6u);
  EXPECT_EQ(second.count, 1u);
}

TEST(SlotsInTest, MoreStreamsThanTheLimitAreRefused) {
  SlotsIn slots;
  for (uint32_t stream = 0; stream < kMaxEagerStreams; ++stream) {
    EXPECT_TRUE(slots.Occupy(stream).ok());
  }
  EXPECT_FALSE(slots.Occupy(kMaxEagerStreams).ok());
}

}  // namespace
}  // namespace reigen::transport
