// Goal: what each tensor's way is, and how few launches and copies many small ones take.
#include "client/cuda/pack_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/c/layout.h"

namespace reigen::sdk::cuda {
namespace {

constexpr size_t kScratchBytes = 1 << 20;
constexpr CuAddress kScratch = 0x7000000;

class PackPlanTest : public testing::Test {
 protected:
  // Side by side in host memory, as in an arena's block.
  void Add(size_t bytes, const Layout& layout) {
    copies_.push_back({.device = 0x1000 * (copies_.size() + 1), .host = host_ + used_,
                       .bytes = bytes, .layout = &layout});
    used_ += (bytes + 63) / 64 * 64;
  }
  PackPlan Plan(size_t scratch_bytes = kScratchBytes) {
    return MakePackPlan(copies_, kScratch, scratch_bytes, false);
  }
  static Layout Strided(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
    uint64_t count = 1;
    for (const int64_t extent : shape) count *= static_cast<uint64_t>(extent);
    Layout layout;
    EXPECT_TRUE(Layout::Make(shape, strides, 4, count, "x", &layout).ok());
    return layout;
  }

  const Layout packed_{};
  const Layout transposed_ = Strided({300, 200}, {4, 1200});
  std::byte* const host_ = reinterpret_cast<std::byte*>(0x40000000);
  size_t used_ = 0;
  std::vector<Copy> copies_;
};

TEST_F(PackPlanTest, ElementsThatNoKernelMayTouchGoByTheHost) {
  const Layout packed_records = Strided({300}, {5});
  Add(1200, packed_records);
  Add(240000, transposed_);
  copies_.back().device += 2;
  Add(240000, transposed_);
  const PackPlan plan = Plan();
  ASSERT_EQ(plan.on_host.size(), 2u);
  EXPECT_EQ(plan.on_host[0].device, copies_[0].device);
  EXPECT_EQ(plan.on_host[1].device, copies_[1].device);
  EXPECT_EQ(plan.rounds.size(), 1u);
}

TEST_F(PackPlanTest, ManySmallTensorsAreOneLaunchAndOneCopy) {
  for (size_t i = 1; i <= 200; ++i) Add(i * 13, packed_);
  const PackPlan plan = Plan();
  EXPECT_TRUE(plan.direct.empty());
  ASSERT_EQ(plan.rounds.size(), 1u);
  const PackRound& round = plan.rounds[0];
  ASSERT_EQ(round.packs.size(), 1u);
  EXPECT_TRUE(round.strided.empty());
  EXPECT_EQ(round.packs[0].item_count, 200u);
  EXPECT_EQ(round.packs[0].range, kScratch);
  ASSERT_EQ(round.copies.size(), 1u);
  EXPECT_EQ(round.copies[0].host, host_);
  EXPECT_EQ(round.copies[0].bytes, used_ - 64 + 200 * 13 % 64);
  for (size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(host_ + round.packs[0].items[i].packed, copies_[i].host);
    EXPECT_EQ(round.packs[0].items[i].tensor, copies_[i].device);
  }
}

TEST_F(PackPlanTest, ALaunchTakesSoManyAndTheCopyAll) {
  for (size_t i = 0; i < 2 * kMaxPackItems + 1; ++i) Add(8, packed_);
  const PackPlan plan = Plan();
  ASSERT_EQ(plan.rounds.size(), 1u);
  EXPECT_EQ(plan.rounds[0].packs.size(), 3u);
  EXPECT_EQ(plan.rounds[0].copies.size(), 1u);
}

TEST_F(PackPlanTest, LargeAndLoneOnesAreCopiedAsTheyAre) {
  Add(kMaxPackedTensorBytes + 1, packed_);
  Add(8, packed_);
  const PackPlan plan = Plan();
  EXPECT_EQ(plan.direct.size(), 2u);
  EXPECT_TRUE(plan.rounds.empty());
}

TEST_F(PackPlanTest, ALargeOneBetweenSmallOnesCutsTheCopyNotTheLaunch) {
  Add(8, packed_);
  Add(kMaxPackedTensorBytes + 1, packed_);
  Add(8, packed_);
  const PackPlan plan = Plan();
  EXPECT_EQ(plan.direct.size(), 1u);
  ASSERT_EQ(plan.rounds.size(), 1u);
  ASSERT_EQ(plan.rounds[0].packs.size(), 1u);
  ASSERT_EQ(plan.rounds[0].copies.size(), 2u);
  EXPECT_EQ(plan.rounds[0].copies[1].host, copies_[2].host);
  EXPECT_EQ(plan.rounds[0].copies[1].scratch, 64u);
}

TEST_F(PackPlanTest, WhatTheScratchRangeDoesNotHoldGoesInRounds) {
  Add(240000, transposed_);
  for (int i = 0; i < 3; ++i) Add(kMaxPackedTensorBytes, packed_);
  const PackPlan plan = Plan(256 * 256);
  size_t bytes = 0;
  for (const PackRound& round : plan.rounds) {
    size_t in_round = 0;
    for (const ScratchCopy& copy : round.copies) {
      EXPECT_LE(copy.scratch + copy.bytes, 256u * 256u);
      in_round += copy.bytes;
    }
    EXPECT_LE(in_round, 256u * 256u);
    bytes += in_round;
  }
  EXPECT_EQ(bytes, 240000 + 3 * kMaxPackedTensorBytes);
  const StridedItem& second = plan.rounds[1].strided[0].items[0];
  EXPECT_EQ(second.first, 256u * 256u / 4);
  EXPECT_EQ(second.tensor, copies_[0].device);
  EXPECT_EQ(second.dims, 2u);
  EXPECT_EQ(second.extents[0], 300u);
  EXPECT_EQ(second.strides[1], 1200);
}

TEST_F(PackPlanTest, WithoutKernelsAllAreCopiedOneByOne) {
  Add(8, packed_);
  Add(8, packed_);
  Add(240000, transposed_);
  const PackPlan plan = Plan(0);
  EXPECT_EQ(plan.direct.size(), 2u);
  EXPECT_EQ(plan.on_host.size(), 1u);
  EXPECT_TRUE(plan.rounds.empty());
}

TEST_F(PackPlanTest, MoreDimensionsThanTheKernelTakesArePackedOnTheHost) {
  const Layout five = Strided({2, 2, 2, 2, 2}, {4, 8, 16, 32, 64});
  Add(128, five);
  const PackPlan plan = Plan();
  EXPECT_EQ(plan.on_host.size(), 1u);
}

}  // namespace
}  // namespace reigen::sdk::cuda
