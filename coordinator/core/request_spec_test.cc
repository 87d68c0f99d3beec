#include "coordinator/core/request_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "coordinator/core/test_specs.h"
#include "coordinator/limits.h"

namespace reigen::coordinator {
namespace {

using control::RequestSpec;
using testing::HasSubstr;

std::string Mismatch(const RequestSpec& a, const RequestSpec& b) {
  EXPECT_FALSE(SameSpec(a, b));
  EXPECT_FALSE(SameSpec(b, a));
  return DescribeMismatch("x", {{std::make_shared<const RequestSpec>(a), {0, 1}},
                                {std::make_shared<const RequestSpec>(b), {2}}});
}

TEST(RequestSpecTest, EachFieldThatDiffersIsNamedWithRanksAndValues) {
  const RequestSpec x = Allreduce("x", {4, 2});
  EXPECT_EQ(Mismatch(x, Allreduce("x", {4, 3})),
            "x: ranks disagree on shape: [4,2] on ranks 0,1; [4,3] on rank 2");
  EXPECT_EQ(Mismatch(x, Allreduce("x", {4, 2}, DataType::kInt64)),
            "x: ranks disagree on dtype: float32 on ranks 0,1; int64 on rank 2");
  EXPECT_EQ(Mismatch(x, Allreduce("x", {4, 2}, DataType::kFloat32, ReduceOp::kAverage)),
            "x: ranks disagree on op: sum on ranks 0,1; average on rank 2");
  EXPECT_EQ(Mismatch(x, Broadcast("x", {4, 2}, 0)),
            "x: ranks disagree on collective: allreduce on ranks 0,1; broadcast on rank 2");
  EXPECT_EQ(Mismatch(Broadcast("x", {4}, 0), Broadcast("x", {4}, 1)),
            "x: ranks disagree on root: 0 on ranks 0,1; 1 on rank 2");
  RequestSpec scaled = x;
  scaled.set_prescale(0.5);
  EXPECT_EQ(Mismatch(x, scaled),
            "x: ranks disagree on prescale factor: 1 on ranks 0,1; 0.5 on rank 2");
  scaled = x;
  scaled.set_postscale(0.25);
  EXPECT_EQ(Mismatch(x, scaled),
            "x: ranks disagree on postscale factor: 1 on ranks 0,1; 0.25 on rank 2");
  RequestSpec device = x;
  device.set_device_kind(1);
  EXPECT_EQ(Mismatch(x, device),
            "x: ranks disagree on device: host memory on ranks 0,1; CUDA device on rank 2");
  RequestSpec group = x;
  AddTensor(group, "y", {1}, DataType::kFloat32);
  EXPECT_EQ(Mismatch(x, group),
            "x: ranks disagree on number of tensors: 1 on ranks 0,1; 2 on rank 2");
}

TEST(RequestSpecTest, ATensorOfAGroupIsNamed) {
  RequestSpec a = Allreduce("g.0", {4});
  RequestSpec b = a;
  AddTensor(a, "g.1", {1}, DataType::kFloat32);
  AddTensor(b, "g.1", {2}, DataType::kFloat32);
  EXPECT_EQ(Mismatch(a, b), "x: ranks disagree on shape of g.1: [1] on ranks 0,1; [2] on rank 2");
}

TEST(RequestSpecTest, SeveralFieldsStandInOneText) {
  EXPECT_EQ(Mismatch(Allreduce("x", {4}), Allreduce("x", {5}, DataType::kInt8)),
            "x: ranks disagree on dtype: float32 on ranks 0,1; int8 on rank 2; "
            "also on shape: [4] on ranks 0,1; [5] on rank 2");
}

TEST(RequestSpecTest, TheTextIsTheSameWhoeverCameFirst) {
  const auto three = std::make_shared<const RequestSpec>(Allreduce("x", {3}));
  const auto four = std::make_shared<const RequestSpec>(Allreduce("x", {4}));
  const auto four_min = std::make_shared<const RequestSpec>(
      Allreduce("x", {4}, DataType::kFloat32, ReduceOp::kMin));
  EXPECT_EQ(DescribeMismatch("x", {{four, {5, 1}}, {four_min, {2}}, {three, {4, 0}}}),
            "x: ranks disagree on shape: [3] on ranks 0,4; [4] on ranks 1,2,5; also on op: "
            "sum on ranks 0,1,4,5; min on rank 2");
}

TEST(RequestSpecTest, ALongTextIsCut) {
  const std::string name(kMaxNameBytes, 'n');
  const auto text = DescribeMismatch(
      name, {{std::make_shared<const RequestSpec>(Allreduce(name, {1})), {0}},
             {std::make_shared<const RequestSpec>(Allreduce(name, {2})), {1}}});
  EXPECT_LE(text.size(), kMaxReasonBytes);
}

TEST(RequestSpecTest, EveryOpWorksOnEveryDtypeButAverageOnBool) {
  for (int dtype = 0; dtype < kDataTypeCount; ++dtype) {
    for (ReduceOp op : {ReduceOp::kAverage, ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax,
                        ReduceOp::kProduct}) {
      const auto type = static_cast<DataType>(dtype);
      const Status status = CheckSupported("x", Allreduce("x", {4}, type, op), 4);
      EXPECT_EQ(status.ok(), type != DataType::kBool || op != ReduceOp::kAverage);
      if (status.ok()) continue;
      EXPECT_THAT(Message(status), HasSubstr("average is not defined for dtype bool"));
    }
  }
}

TEST(RequestSpecTest, BoolIsNotScaled) {
  RequestSpec spec = Allreduce("x", {4}, DataType::kBool);
  spec.set_postscale(2.0);
  EXPECT_EQ(CheckSupported("x", spec, 4).code(), StatusCode::kInvalidArgument);
}

TEST(RequestSpecTest, TheRootIsARankOfTheJob) {
  EXPECT_TRUE(CheckSupported("x", Broadcast("x", {4}, 3), 4).ok());
  EXPECT_FALSE(CheckSupported("x", Broadcast("x", {4}, 4), 4).ok());
  EXPECT_FALSE(CheckSupported("x", Broadcast("x", {4}, -1), 4).ok());
}

TEST(RequestSpecTest, ScalarsAndEmptyTensorsAreFine) {
  EXPECT_TRUE(CheckSupported("x", Allreduce("x", {}), 4).ok());
  EXPECT_TRUE(CheckSupported("x", Allreduce("x", {3, 0, 5}), 4).ok());
  EXPECT_TRUE(CheckSupported("x", Barrier(), 4).ok());
}

TEST(RequestSpecTest, NonsenseFailsTheRequest) {
  RequestSpec spec = Allreduce("x", {4});
  spec.set_kind(9);
  EXPECT_FALSE(CheckSupported("x", spec, 4).ok());
  spec = Allreduce("x", {4});
  spec.set_op(2);
  EXPECT_FALSE(CheckSupported("x", spec, 4).ok());
  spec.set_op(1 << 20);
  EXPECT_FALSE(CheckSupported("x", spec, 4).ok());
  spec = Allreduce("x", {4});
  spec.mutable_tensors(0)->set_dtype(77);
  EXPECT_FALSE(CheckSupported("x", spec, 4).ok());
  spec = Allreduce("x", {4});
  spec.mutable_tensors(0)->set_count(5);
  EXPECT_FALSE(CheckSupported("x", spec, 4).ok());
  spec = Allreduce("x", {4});
  spec.mutable_tensors(0)->set_shape(0, std::numeric_limits<uint64_t>::max());
  spec.mutable_tensors(0)->add_shape(16);
  spec.mutable_tensors(0)->set_count(std::numeric_limits<uint64_t>::max() * 16);
  EXPECT_FALSE(CheckSupported("x", spec, 4).ok());
  spec = Barrier();
  AddTensor(spec, "x", {4}, DataType::kFloat32);
  EXPECT_FALSE(CheckSupported("x", spec, 4).ok());
  spec = Allreduce("x", {4});
  spec.clear_tensors();
  EXPECT_FALSE(CheckSupported("x", spec, 4).ok());
}

TEST(RequestSpecTest, CountsBeyondTheLimitsAreRefused) {
  EXPECT_TRUE(CheckBounds(Allreduce("x", {4})).ok());
  EXPECT_FALSE(CheckBounds(Allreduce("", {4})).ok());
  EXPECT_FALSE(CheckBounds(Allreduce(std::string(kMaxNameBytes + 1, 'n'), {4})).ok());
  EXPECT_FALSE(CheckBounds(Allreduce("x", std::vector<uint64_t>(kMaxDims + 1, 1))).ok());
  RequestSpec group;
  for (size_t i = 0; i <= kMaxGroupTensors; ++i) AddTensor(group, "x", {1}, DataType::kInt8);
  EXPECT_FALSE(CheckBounds(group).ok());
}

}  // namespace
}  // namespace reigen::coordinator
