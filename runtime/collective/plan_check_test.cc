#include "runtime/collective/plan_check.h"

#include <gtest/gtest.h>

namespace reigen::collective {
namespace {

Bucket SegmentsOf(uint64_t bytes, DataType dtype, DataType wire) {
  Bucket bucket;
  bucket.segment_bytes = bytes;
  bucket.dtype = dtype;
  bucket.wire = wire;
  return bucket;
}

TEST(PlanCheckTest, ASegmentHoldsPartialSumsAndFinalValuesWhereTheirTypesDiffer) {
  EXPECT_EQ(SegmentElements(SegmentsOf(384, DataType::kFloat32, DataType::kFloat32)), 64u);
  EXPECT_EQ(SegmentElements(SegmentsOf(384, DataType::kFloat16, DataType::kFloat16)), 192u);
  EXPECT_EQ(SegmentElements(SegmentsOf(384, DataType::kFloat16, DataType::kFloat32)), 64u);
  Bucket broadcast = SegmentsOf(384, DataType::kFloat16, DataType::kFloat32);
  broadcast.kind = CollectiveKind::kBroadcast;
  EXPECT_EQ(SegmentElements(broadcast), 192u) << "a broadcast has no partial sums";
}

TEST(PlanCheckTest, SegmentsBeginAtMultiplesOf64ElementsUnlessTheyAreSmaller) {
  EXPECT_EQ(SegmentElements(SegmentsOf(1 << 20, DataType::kFloat16, DataType::kFloat32)), 174720u);
  EXPECT_EQ(SegmentElements(SegmentsOf(100, DataType::kFloat32, DataType::kFloat32)), 25u);
  EXPECT_EQ(SegmentElements(SegmentsOf(3, DataType::kFloat32, DataType::kFloat32)), 0u);
}

TEST(PlanCheckTest, WhatHasNoElementsStaysOnItsHost) {
  Bucket bucket;
  bucket.algorithm = Algorithm::kRing;
  bucket.hosts = {0, 1};
  bucket.tensors.resize(2);
  EXPECT_FALSE(NeedsNetwork(bucket));
  bucket.tensors[1].count = 1;
  EXPECT_TRUE(NeedsNetwork(bucket));
  bucket.hosts = {0};
  EXPECT_FALSE(NeedsNetwork(bucket));
}

}  // namespace
}  // namespace reigen::collective
