#include "coordinator/core/fusion_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/core/test_specs.h"
#include "coordinator/limits.h"
#include "runtime/base/collective_id.h"
#include "runtime/base/dtype.h"

namespace reigen::coordinator {
namespace {

using control::RequestSpec;
using testing::ElementsAre;

AgreedRequest Agreed(const std::string& name, const RequestSpec& spec, uint32_t id = 0) {
  return {.name_id = id, .name = name, .spec = std::make_shared<const RequestSpec>(spec)};
}
AgreedRequest Agreed(const RequestSpec& spec) { return Agreed(spec.tensors(0).name(), spec); }

std::string Names(const control::Plan& plan) {
  std::string names;
  for (const auto& tensor : plan.tensors()) names += tensor.spec().name();
  return names;
}

JobConfig Config(uint64_t threshold = 1 << 20) {
  JobConfig config;
  config.fusion_threshold_bytes = threshold;
  config.small_max_bytes = 1024;
  return config;
}

// 2000 bytes: large, when there are hosts to send it between.
RequestSpec Large(const std::string& name, DataType dtype = DataType::kFloat32,
                  ReduceOp op = ReduceOp::kSum) {
  return Allreduce(name, {2000 / ElementBytes(dtype)}, dtype, op);
}

TEST(FusionPlannerTest, LooksAheadPastTensorsOfAnotherKind) {
  FusionPlanner planner(Config(), {0, 1}, 4);
  const auto plans = planner.Plan({Agreed(Large("a")), Agreed(Large("b", DataType::kInt32)),
                                   Agreed(Large("c")), Agreed(Large("d", DataType::kInt32))});
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(Names(plans[0]), "ac");
  EXPECT_EQ(Names(plans[1]), "bd");
  EXPECT_EQ(plans[0].sequence(), 1u);
  EXPECT_EQ(plans[1].sequence(), 2u);
  EXPECT_THAT(plans[0].hosts(), ElementsAre(0, 1));
}

TEST(FusionPlannerTest, SequencesGoOnFromOneCallToTheNext) {
  FusionPlanner planner(Config(), {0, 1}, 4);
  EXPECT_EQ(planner.Plan({Agreed(Large("a"))})[0].sequence(), 1u);
  EXPECT_EQ(planner.Plan({Agreed(Large("a"))})[0].sequence(), 2u);
  EXPECT_EQ(planner.plans(), 2u);
}

TEST(FusionPlannerTest, ABucketEndsAtTheThreshold) {
  FusionPlanner planner(Config(4000), {0, 1}, 4);
  const auto plans = planner.Plan({Agreed(Large("a")), Agreed(Large("b")), Agreed(Large("c"))});
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(Names(plans[0]), "ab");
  EXPECT_EQ(Names(plans[1]), "c");
}

TEST(FusionPlannerTest, ATensorAboveTheThresholdHasABucketOfItsOwn) {
  FusionPlanner planner(Config(1500), {0, 1}, 4);
  EXPECT_EQ(planner.Plan({Agreed(Large("a")), Agreed(Large("b"))}).size(), 2u);
}

TEST(FusionPlannerTest, ClassesOpsAndScalesAreNeverMixed) {
  FusionPlanner planner(Config(), {0, 1}, 4);
  RequestSpec scaled = Large("scaled");
  scaled.set_prescale(0.5);
  const auto plans = planner.Plan(
      {Agreed(Large("a")), Agreed(Allreduce("small", {4})), Agreed(Allreduce("empty", {0})),
       Agreed(Large("average", DataType::kFloat32, ReduceOp::kAverage)), Agreed(scaled)});
  ASSERT_EQ(plans.size(), 5u);
  EXPECT_EQ(plans[0].algorithm(), static_cast<uint32_t>(Algorithm::kRing));
  EXPECT_EQ(plans[1].algorithm(), static_cast<uint32_t>(Algorithm::kRecursiveDoubling));
  EXPECT_EQ(plans[2].algorithm(), static_cast<uint32_t>(Algorithm::kNone));
  EXPECT_EQ(plans[3].divisor(), 4u);
  EXPECT_EQ(plans[4].prescale(), 0.5);
  EXPECT_EQ(plans[4].divisor(), 1u);
}

TEST(FusionPlannerTest, OnOneHostNothingMovesAndSizesDoNotMatter) {
  FusionPlanner planner(Config(), {0}, 4);
  const auto plans = planner.Plan({Agreed(Large("a")), Agreed(Allreduce("b", {4}))});
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans[0].algorithm(), static_cast<uint32_t>(Algorithm::kNone));
}

TEST(FusionPlannerTest, BroadcastsAndBarriersAreNotFused) {
  FusionPlanner planner(Config(), {0, 1}, 4);
  const auto plans =
      planner.Plan({Agreed(Broadcast("a", {2000}, 3)), Agreed(Broadcast("b", {2}, 3)),
                    Agreed("barrier", Barrier(), 7)});
  ASSERT_EQ(plans.size(), 3u);
  EXPECT_EQ(plans[0].algorithm(), static_cast<uint32_t>(Algorithm::kChainBroadcast));
  EXPECT_EQ(plans[0].root(), 3);
  EXPECT_EQ(plans[1].algorithm(), static_cast<uint32_t>(Algorithm::kTreeBroadcast));
  EXPECT_EQ(plans[2].algorithm(), static_cast<uint32_t>(Algorithm::kNone));
  ASSERT_EQ(plans[2].tensors_size(), 1);
  EXPECT_EQ(plans[2].tensors(0).name_id(), 7u);
  EXPECT_FALSE(plans[2].tensors(0).has_spec());
}

TEST(FusionPlannerTest, TensorsOfAGroupKeepTheirNumbers) {
  FusionPlanner planner(Config(), {0, 1}, 4);
  RequestSpec group = Large("a");
  AddTensor(group, "b", {500}, DataType::kInt32);
  AddTensor(group, "c", {500}, DataType::kFloat32);
  const auto plans = planner.Plan({Agreed("group", group, 5)});
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(Names(plans[0]), "ac");
  EXPECT_EQ(plans[0].tensors(1).tensor(), 2u);
  EXPECT_EQ(plans[0].tensors(1).name_id(), 5u);
  EXPECT_EQ(plans[0].tensors(1).name(), "");
  EXPECT_EQ(plans[1].tensors(0).tensor(), 1u);
}

TEST(FusionPlannerTest, ANameWithoutIdIsSpeltOut) {
  FusionPlanner planner(Config(), {0, 1}, 4);
  EXPECT_EQ(planner.Plan({Agreed(Large("a"))})[0].tensors(0).name(), "a");
}

TEST(FusionPlannerTest, TheNumberOfTensorsInABucketIsBounded) {
  FusionPlanner planner(Config(1ull << 40), {0, 1}, 4);
  std::vector<AgreedRequest> requests(kMaxBucketTensors + 1, Agreed(Allreduce("a", {1})));
  EXPECT_EQ(planner.Plan(requests).size(), 2u);
}

// R2, R3: what decides about bits depends on the tensor alone, not on its company.
TEST(FusionPlannerTest, ATensorsBitsDoNotDependOnWhatItIsFusedWith) {
  const auto half = Large("h", DataType::kFloat16, ReduceOp::kAverage);
  FusionPlanner alone(Config(), {0, 1, 2}, 6);
  FusionPlanner together(Config(), {0, 1, 2}, 6);
  const auto one = alone.Plan({Agreed(half)})[0];
  const auto both = together.Plan(
      {Agreed(Large("g", DataType::kFloat16, ReduceOp::kAverage)), Agreed(half)})[0];
  EXPECT_EQ(one.algorithm(), both.algorithm());
  EXPECT_EQ(one.wire_dtype(), both.wire_dtype());
  EXPECT_EQ(one.wire_dtype(), static_cast<uint32_t>(DataType::kFloat32));
  EXPECT_EQ(one.divisor(), both.divisor());
}

}  // namespace
}  // namespace reigen::coordinator
