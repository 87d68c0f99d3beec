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
    const auto landed = landings.Arrived(MakeImmediate(slot, 3), 0);
    ASSERT_TRUE(landed.ok());
    EXPECT_FALSE(landed->has_value());
  }
  const auto landed = landings.Arrived(MakeImmediate(slot, 3), 0);
  ASSERT_TRUE(landed.ok() && landed->has_value());
  EXPECT_EQ((*landed)->tag, MakeTag(1));
  EXPECT_EQ((*landed)->bytes, 1000u);
  EXPECT_EQ(landings.open(), 0u);
}

// For each of them has to read back what it wrote.
TEST(LandingsTest, TheDevicesThatWroteAreTold) {
  Landings landings;
  const auto use = std::make_shared<const Registration>();
  for (int round = 0; round < 2; ++round) {
    const uint32_t slot = landings.Open(MakeTag(1), 10, use);
    ASSERT_TRUE(landings.Arrived(MakeImmediate(slot, 3), 0).ok());
    ASSERT_TRUE(landings.Arrived(MakeImmediate(slot, 3), 2).ok());
    const auto landed = landings.Arrived(MakeImmediate(slot, 3), 2);
    ASSERT_TRUE(landed.ok() && landed->has_value());
    EXPECT_EQ((*landed)->rails, 0b101);
    EXPECT_EQ((*landed)->use, use);
  }
  landings.Open(MakeTag(2), 10, use);
  const auto dropped = landings.Drop(MakeTag(2));
  ASSERT_TRUE(dropped.has_value());
  EXPECT_EQ(dropped->rails, 0);
  EXPECT_EQ(dropped->use, use);
}

// In whichever order they are seen: they come by several queue pairs.
TEST(LandingsTest, WhatIsAnnouncedIsWholeWithItsSharesAndTheAnnouncement) {
  const auto use = std::make_shared<const Registration>();
  for (size_t before : {0, 1, 2}) {
    Landings landings;
    const uint32_t slot = landings.Open(MakeTag(1), 5000, use);
    const uint32_t immediate = MakeImmediate(slot, 2, /*announced=*/true);
    StatusOr<std::optional<Landings::Landed>> landed = std::optional<Landings::Landed>();
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_FALSE(landed->has_value()) << "with " << i << ", announced after " << before;
      landed = i == before ? landings.Announced(MakeTag(1), 5000) : landings.Arrived(immediate, 2);
      ASSERT_TRUE(landed.ok()) << landed.status().ToString();
    }
    ASSERT_TRUE(landed->has_value());
    EXPECT_EQ((*landed)->tag, MakeTag(1));
    EXPECT_EQ((*landed)->bytes, 5000u);
    EXPECT_EQ((*landed)->rails, 0b100);
    EXPECT_EQ((*landed)->use, use);
    EXPECT_EQ(landings.open(), 0u);
    EXPECT_FALSE(landings.Announced(MakeTag(1), 5000).ok());
    EXPECT_FALSE(landings.Arrived(immediate, 2).ok());
  }
}

TEST(LandingsTest, AnAnnouncementThatDoesNotFitIsRefused) {
  Landings landings;
  EXPECT_FALSE(landings.Announced(MakeTag(1), 5000).ok()) << "no credit";
  uint32_t slot = landings.Open(MakeTag(1), 5000, nullptr);
  EXPECT_FALSE(landings.Announced(MakeTag(1), 5001).ok()) << "another length";
  ASSERT_TRUE(landings.Announced(MakeTag(1), 5000).ok());
  EXPECT_FALSE(landings.Announced(MakeTag(1), 5000).ok()) << "twice";
  EXPECT_FALSE(landings.Arrived(MakeImmediate(slot, 2), 0).ok()) << "a share that knows of none";
  EXPECT_TRUE(landings.Arrived(MakeImmediate(slot, 2, true), 0).ok());
  EXPECT_FALSE(landings.Arrived(MakeImmediate(slot, 2, false), 0).ok()) << "shares differ";

  slot = landings.Open(MakeTag(2), 5000, nullptr);
  ASSERT_TRUE(landings.Arrived(MakeImmediate(slot, 2), 0).ok());
  EXPECT_FALSE(landings.Announced(MakeTag(2), 5000).ok()) << "its share said there would be none";

  slot = landings.Open(MakeTag(3), 5000, nullptr);
  ASSERT_TRUE(landings.Arrived(MakeImmediate(slot, 1, true), 0).ok());
  EXPECT_FALSE(landings.Arrived(MakeImmediate(slot, 1, true), 0).ok()) << "a share too many";
  const uint32_t stale = slot;
  ASSERT_TRUE(landings.Drop(MakeTag(3)).has_value());
  slot = landings.Open(MakeTag(4), 5000, nullptr);
  ASSERT_EQ(slot & 0x7fff, stale & 0x7fff) << "the slot is used again";
  EXPECT_FALSE(landings.Arrived(MakeImmediate(stale, 1, true), 0).ok());
  EXPECT_FALSE(landings.Announced(MakeTag(3), 5000).ok());
  auto landed = landings.Announced(MakeTag(4), 5000);
  ASSERT_TRUE(landed.ok() && !landed->has_value()) << "nothing of the earlier credit counts";
  landed = landings.Arrived(MakeImmediate(slot, 1, true), 0);
  EXPECT_TRUE(landed.ok() && landed->has_value());
}

TEST(LandingsTest, WhatBelongsToAnEarlierCreditIsRefused) {
  Landings landings;
  const uint32_t old = landings.Open(MakeTag(1), 10, nullptr);
  ASSERT_TRUE(landings.Drop(MakeTag(1)).has_value());
  const uint32_t slot = landings.Open(MakeTag(2), 10, nullptr);
  EXPECT_EQ(slot & 0x7fff, old & 0x7fff) << "the slot is used again";
  EXPECT_FALSE(landings.Arrived(MakeImmediate(old, 1), 0).ok());
  EXPECT_TRUE(landings.Arrived(MakeImmediate(slot, 1), 0).ok());
  EXPECT_FALSE(landings.Arrived(MakeImmediate(slot, 1), 0).ok()) << "twice";
}

TEST(LandingsTest, NonsenseIsRefused) {
  Landings landings;
  EXPECT_FALSE(landings.Arrived(0x10000000, 0).ok());
  const uint32_t slot = landings.Open(MakeTag(1), 10, nullptr);
  EXPECT_FALSE(landings.Arrived(slot, 0).ok()) << "no share";
  EXPECT_FALSE(landings.Arrived(MakeImmediate(slot + 1, 1), 0).ok());
  ASSERT_TRUE(landings.Arrived(MakeImmediate(slot, 3), 0).ok());
  EXPECT_FALSE(landings.Arrived(MakeImmediate(slot, 2), 0).ok()) << "another number of shares";
  EXPECT_FALSE(landings.Drop(MakeTag(7)).has_value());
}

TEST(LandingsTest, ASlotHoldsTheMemoryUntilItIsFree) {
  Landings landings;
  const auto use = std::make_shared<const Registration>();
  const uint32_t slot = landings.Open(MakeTag(1), 10, use);
  landings.Open(MakeTag(2), 10, use);
  landings.Open(MakeTag(3), 10, use);
  EXPECT_EQ(use.use_count(), 4);
  ASSERT_TRUE(landings.Arrived(MakeImmediate(slot, 1), 0).ok());
  EXPECT_EQ(use.use_count(), 3);
  landings.Drop(MakeTag(2));
  EXPECT_EQ(use.use_count(), 2);
  landings.Clear();
  EXPECT_EQ(use.use_count(), 1);
}

}  // namespace
}  // namespace reigen::transport::rdma
