#include "coordinator/core/algorithm.h"

#include <gtest/gtest.h>

namespace reigen::coordinator {
namespace {

TEST(AlgorithmTest, TheClassDependsOnTheTensorsBytesAndTheHosts) {
  EXPECT_EQ(ClassOf(0, 4, 16384), TensorClass::kStill);
  EXPECT_EQ(ClassOf(1 << 30, 1, 16384), TensorClass::kStill);
  EXPECT_EQ(ClassOf(16384, 2, 16384), TensorClass::kSmall);
  EXPECT_EQ(ClassOf(16385, 2, 16384), TensorClass::kLarge);
  EXPECT_EQ(ClassOf(4, 2, 0), TensorClass::kLarge);
}

TEST(AlgorithmTest, EveryKindAndClassHasItsAlgorithm) {
  using K = CollectiveKind;
  EXPECT_EQ(AlgorithmFor(K::kAllreduce, TensorClass::kSmall), Algorithm::kRecursiveDoubling);
  EXPECT_EQ(AlgorithmFor(K::kAllreduce, TensorClass::kLarge), Algorithm::kRing);
  EXPECT_EQ(AlgorithmFor(K::kBroadcast, TensorClass::kSmall), Algorithm::kTreeBroadcast);
  EXPECT_EQ(AlgorithmFor(K::kBroadcast, TensorClass::kLarge), Algorithm::kChainBroadcast);
  EXPECT_EQ(AlgorithmFor(K::kBarrier, TensorClass::kStill), Algorithm::kNone);
  EXPECT_EQ(AlgorithmFor(K::kAllreduce, TensorClass::kStill), Algorithm::kNone);
}

// R3.
TEST(AlgorithmTest, HalvesThatAreAveragedOrScaledTravelAsFloat32) {
  const auto wire = [](ReduceOp op, DataType dtype, bool scaled, WirePrecision precision) {
    return WireType(CollectiveKind::kAllreduce, op, dtype, scaled, precision);
  };
  for (DataType half : {DataType::kFloat16, DataType::kBFloat16}) {
    EXPECT_EQ(wire(ReduceOp::kSum, half, false, WirePrecision::kAuto), half);
    EXPECT_EQ(wire(ReduceOp::kSum, half, true, WirePrecision::kAuto), DataType::kFloat32);
    EXPECT_EQ(wire(ReduceOp::kAverage, half, false, WirePrecision::kAuto), DataType::kFloat32);
    EXPECT_EQ(wire(ReduceOp::kAverage, half, true, WirePrecision::kTensor), half);
    EXPECT_EQ(wire(ReduceOp::kSum, half, false, WirePrecision::kFp32), DataType::kFloat32);
    EXPECT_EQ(WireType(CollectiveKind::kBroadcast, ReduceOp::kAverage, half, true,
                       WirePrecision::kFp32),
              half);
  }
  for (DataType other : {DataType::kFloat32, DataType::kFloat64, DataType::kInt64}) {
    EXPECT_EQ(wire(ReduceOp::kAverage, other, true, WirePrecision::kFp32), other);
  }
}

TEST(AlgorithmTest, LanesStayWithinTheirLimits) {
  const uint64_t limit = UsableSegmentBytes(1 << 20);
  for (uint64_t bytes = 1; bytes < (1ull << 40); bytes = bytes * 3 + 1) {
    for (int hosts : {2, 3, 64}) {
      for (Algorithm algorithm : {Algorithm::kRing, Algorithm::kRecursiveDoubling}) {
        const Lanes lanes = LanesFor(algorithm, bytes, hosts, limit, 4);
        EXPECT_GT(lanes.segment_bytes, 0u);
        EXPECT_LE(lanes.segment_bytes, limit);
        EXPECT_EQ(lanes.segment_bytes % 64, 0u);
        EXPECT_GE(lanes.channels, 1u);
        EXPECT_LE(lanes.channels, 4u);
      }
    }
  }
  EXPECT_EQ(LanesFor(Algorithm::kRing, 64, 2, limit, 4).channels, 1u);
  EXPECT_EQ(LanesFor(Algorithm::kRing, 64 << 20, 2, limit, 4).channels, 4u);
  EXPECT_EQ(LanesFor(Algorithm::kRing, 64 << 20, 2, limit, 4).segment_bytes, limit);
}

TEST(AlgorithmTest, AConfiguredSegmentHoldsWholeElements) {
  EXPECT_EQ(UsableSegmentBytes(1), 4096u);
  EXPECT_EQ(UsableSegmentBytes(5000), 5056u);
}

}  // namespace
}  // namespace reigen::coordinator
