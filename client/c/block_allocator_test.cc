#include "client/c/block_allocator.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace reigen::sdk {
namespace {

TEST(BlockAllocatorTest, BlocksStartAtAlignedOffsetsAndDoNotMeet) {
  BlockAllocator blocks(1024);
  EXPECT_EQ(blocks.Allocate(0), 0u);
  EXPECT_EQ(blocks.Allocate(1), 64u);
  EXPECT_EQ(blocks.Allocate(65), 128u);
  EXPECT_EQ(blocks.Allocate(64), 256u);
}

TEST(BlockAllocatorTest, TheSmallestPartThatFitsIsTaken) {
  BlockAllocator blocks(1024);
  const auto large = blocks.Allocate(512);
  const auto wall = blocks.Allocate(64);
  const auto small = blocks.Allocate(128);
  blocks.Allocate(320);
  blocks.Free(*large);
  blocks.Free(*small);
  EXPECT_EQ(blocks.Allocate(128), small);
  EXPECT_TRUE(wall.has_value());
}

TEST(BlockAllocatorTest, WhatDoesNotFitIsRefused) {
  BlockAllocator blocks(1000);  // 960 usable
  EXPECT_FALSE(blocks.Allocate(961).has_value());
  EXPECT_FALSE(blocks.Allocate(UINT64_MAX).has_value());
  EXPECT_TRUE(blocks.Allocate(960).has_value());
  EXPECT_FALSE(blocks.Allocate(1).has_value());
}

TEST(BlockAllocatorTest, FreedNeighboursBecomeOnePart) {
  BlockAllocator blocks(256);
  const auto a = blocks.Allocate(64), b = blocks.Allocate(64), c = blocks.Allocate(128);
  blocks.Free(*a);
  blocks.Free(*c);
  blocks.Free(*b);
  EXPECT_TRUE(blocks.empty());
  EXPECT_EQ(blocks.Allocate(256), 0u);
}

TEST(BlockAllocatorTest, RandomUseNeverHandsOutAByteTwice) {
  constexpr uint64_t kUnits = 512;
  BlockAllocator blocks(kUnits * 64);
  std::mt19937 random(7);
  std::vector<std::pair<uint64_t, uint64_t>> live;  // first unit, units
  std::vector<bool> used(kUnits);
  for (int round = 0; round < 20000; ++round) {
    if (random() % 2 == 0 || live.empty()) {
      const uint64_t bytes = 1 + random() % 3000;
      const auto offset = blocks.Allocate(bytes);
      if (!offset) continue;
      const uint64_t units = (bytes + 63) / 64;
      live.emplace_back(*offset / 64, units);
      for (uint64_t u = 0; u < units; ++u) {
        ASSERT_FALSE(used.at(*offset / 64 + u));
        used[*offset / 64 + u] = true;
      }
    } else {
      const size_t pick = random() % live.size();
      for (uint64_t u = 0; u < live[pick].second; ++u) used[live[pick].first + u] = false;
      blocks.Free(live[pick].first * 64);
      live[pick] = live.back();
      live.pop_back();
    }
  }
  for (const auto& [unit, units] : live) blocks.Free(unit * 64);
  EXPECT_EQ(blocks.Allocate(kUnits * 64), 0u);
}

}  // namespace
}  // namespace reigen::sdk
