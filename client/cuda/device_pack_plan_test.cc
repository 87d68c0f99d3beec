// Goal: what each tensor's way is on GPUs alone, how few launches many small ones take, and
// that no launch's range is larger than its kernel counts.
#include <gtest/gtest.h>

#include <vector>

#include "client/c/layout.h"
#include "client/cuda/pack_plan.h"

namespace reigen::sdk::cuda {
namespace {

constexpr CuAddress kPacked = 0x7000000;
constexpr size_t kGiB = size_t{1} << 30;

class DevicePackPlanTest : public testing::Test {
 protected:
  void Add(size_t bytes, CuAddress packed, const Layout* layout = nullptr) {
    packs_.push_back({.tensor = 0x1000 * (packs_.size() + 1), .packed = packed, .bytes = bytes,
                      .layout = layout});
  }
  DevicePackPlan Plan(bool has_kernels = true) {
    DevicePackPlan plan;
    AddToPlan(packs_, has_kernels, false, &plan);
    return plan;
  }
  static Layout Strided(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
    uint64_t count = 1;
    for (const int64_t extent : shape) count *= static_cast<uint64_t>(extent);
    Layout layout;
    EXPECT_TRUE(Layout::Make(shape, strides, 4, count, "x", &layout).ok());
    return layout;
  }

  const Layout contiguous_{};
  const Layout transposed_ = Strided({300, 200}, {4, 1200});
  std::vector<DevicePack> packs_;
};

TEST_F(DevicePackPlanTest, ManySmallTensorsAreOneLaunchInTheOrderOfTheirPlaces) {
  for (size_t i = 0; i < 200; ++i) Add(13, kPacked + 7 + (199 - i) * 64, &contiguous_);
  const DevicePackPlan plan = Plan();
  EXPECT_TRUE(plan.direct.empty());
  ASSERT_EQ(plan.packs.size(), 1u);
  const PackBatch& batch = plan.packs[0];
  EXPECT_EQ(batch.range, kPacked);
  ASSERT_EQ(batch.item_count, 200u);
  for (size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(batch.items[i].packed, 7 + i * 64);
    EXPECT_EQ(batch.items[i].tensor, packs_[199 - i].tensor);
  }
}

TEST_F(DevicePackPlanTest, ElementsThatNoKernelMayTouchGoByTheHost) {
  const Layout packed_records = Strided({300}, {-7});
  Add(1200, kPacked, &packed_records);
  Add(240000, kPacked + 0x1000, &transposed_);
  packs_.back().tensor += 1;
  Add(240000, kPacked + 0x100000, &transposed_);
  const DevicePackPlan plan = Plan();
  EXPECT_EQ(plan.on_host.size(), 2u);
  ASSERT_EQ(plan.strided.size(), 1u);
  EXPECT_EQ(plan.strided[0].items[0].tensor, packs_[2].tensor);
}

TEST_F(DevicePackPlanTest, LargeAndLoneOnesAreCopiedAsTheyAre) {
  Add(kMaxPackedTensorBytes + 1, kPacked);
  Add(8, kPacked + kGiB);
  Add(0, kPacked);
  const DevicePackPlan plan = Plan();
  EXPECT_EQ(plan.direct.size(), 2u);
  EXPECT_TRUE(plan.packs.empty());
}

TEST_F(DevicePackPlanTest, ALaunchEndsWhereItsTableIsFullOrTheNextPlaceIsFarOrTheSame) {
  for (size_t i = 0; i <= kMaxPackItems; ++i) Add(8, kPacked + 8 * i);
  EXPECT_EQ(Plan().packs.size(), 2u);
  packs_.clear();
  Add(8, kPacked);
  Add(8, kPacked + (1u << 20));
  EXPECT_EQ(Plan().packs.size(), 1u) << "a large tensor may lie between";
  Add(8, kPacked + kGiB);
  EXPECT_EQ(Plan().packs.size(), 2u);
  packs_.clear();
  for (size_t i = 0; i < 3; ++i) Add(8, kPacked);
  EXPECT_EQ(Plan().packs.size(), 3u) << "items do not overlap";
}

TEST_F(DevicePackPlanTest, AStridedTensorOfAnySizeIsCutIntoRangesOfALaunch) {
  const Layout huge = Strided({1 << 10, 1 << 20}, {4, 4 << 10});
  Add(4 * kGiB, kPacked, &huge);
  const DevicePackPlan plan = Plan();
  ASSERT_EQ(plan.strided.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const StridedItem& item = plan.strided[i].items[0];
    EXPECT_EQ(plan.strided[i].range, kPacked + i * kGiB);
    EXPECT_EQ(item.packed, 0u);
    EXPECT_EQ(item.bytes, kGiB);
    EXPECT_EQ(item.first, i * kGiB / 4);
    EXPECT_EQ(item.tensor, packs_[0].tensor);
    EXPECT_EQ(item.strides[1], 4 << 10);
  }
}

TEST_F(DevicePackPlanTest, WithoutKernelsNothingIsLaunched) {
  Add(8, kPacked);
  Add(8, kPacked + 64);
  Add(240000, kPacked + 128, &transposed_);
  const DevicePackPlan plan = Plan(false);
  EXPECT_EQ(plan.direct.size(), 2u);
  EXPECT_EQ(plan.on_host.size(), 1u);
  EXPECT_TRUE(plan.packs.empty());
  EXPECT_TRUE(plan.strided.empty());
}

TEST_F(DevicePackPlanTest, MoreDimensionsThanTheKernelTakesArePackedOnTheHost) {
  const Layout five = Strided({2, 2, 2, 2, 2}, {4, 8, 16, 32, 64});
  Add(128, kPacked, &five);
  EXPECT_EQ(Plan().on_host.size(), 1u);
}

}  // namespace
}  // namespace reigen::sdk::cuda
