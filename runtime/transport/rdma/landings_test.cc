// Goal: a message has landed when every share of it has, and nothing lands without a
// credit, late or twice.
#include "runtime/transport/rdma/landings.h"

#include <gtest/gtest.h>

namespace reigen::transport::rdma {
namespace {

Tag MakeTag(uint64_t sequence) {
  return {.collective = {.epoch = 1, .sequence = sequence, .stream = 0}};
}

TEST(LandingsTest, AMessageIsWholeWithItsLastShare) {
  Landings landings;
  const uint32_t slot = landings.Open(MakeTag(1), 1000, nullptr);
  for (int share = 0; share < 2; ++share) {
    const auto landed = landings.Arrived(MakeImmediate(slot, 3));
    ASSERT_TRUE(landed.ok());
    EXPECT_FALSE(landed->has_value());
  }
  const auto landed = landings.Arrived(MakeImmediate(slot, 3));
  ASSERT_TRUE(landed.ok() && landed->has_value());
  EXPECT_EQ((*landed)->tag, MakeTag(1));
  EXPECT_EQ((*landed)->bytes, 1000u);
  EXPECT_EQ(landings.open(), 0u);
}

TEST(LandingsTest, WhatBelongsToAnEarlierCreditIsRefused) {
  Landings landings;
  const uint32_t old = landings.Open(MakeTag(1), 10, nullptr);
  ASSERT_TRUE(landings.Drop(MakeTag(1)));
  const uint32_t slot = landings.Open(MakeTag(2), 10, nullptr);
  EXPECT_EQ(slot & 0xffff, old & 0xffff) << "the slot is used again";
  EXPECT_FALSE(landings.Arrived(MakeImmediate(old, 1)).ok());
  EXPECT_TRUE(landings.Arrived(MakeImmediate(slot, 1)).ok());
  EXPECT_FALSE(landings.Arrived(MakeImmediate(slot, 1)).ok()) << "twice";
}

TEST(LandingsTest, NonsenseIsRefused) {
  Landings landings;
  EXPECT_FALSE(landings.Arrived(0x10000000).ok());
  const uint32_t slot = landings.Open(MakeTag(1), 10, nullptr);
  EXPECT_FALSE(landings.Arrived(slot).ok()) << "no share";
  EXPECT_FALSE(landings.Arrived(MakeImmediate(slot + 1, 1)).ok());
  ASSERT_TRUE(landings.Arrived(MakeImmediate(slot, 3)).ok());
  EXPECT_FALSE(landings.Arrived(MakeImmediate(slot, 2)).ok()) << "another number of shares";
  EXPECT_FALSE(landings.Drop(MakeTag(7)));
}

TEST(LandingsTest, ASlotHoldsTheMemoryUntilItIsFree) {
  Landings landings;
  const auto use = std::make_shared<const Registration>();
  const uint32_t slot = landings.Open(MakeTag(1), 10, use);
  landings.Open(MakeTag(2), 10, use);
  landings.Open(MakeTag(3), 10, use);
  EXPECT_EQ(use.use_count(), 4);
  ASSERT_TRUE(landings.Arrived(MakeImmediate(slot, 1)).ok());
  EXPECT_EQ(use.use_count(), 3);
  landings.Drop(MakeTag(2));
  EXPECT_EQ(use.use_count(), 2);
  landings.Clear();
  EXPECT_EQ(use.use_count(), 1);
}

}  // namespace
}  // namespace reigen::transport::rdma
