// Goal: every type and operator gives what the reference says, whatever the
// length, the scales and the way between hosts. Method: random and corner data
// through simulated all-reduces; the reference shares no code with the kernels.
#include "runtime/reduce/kernels.h"

#include <cstring>
#include <string>
#include <tuple>

#include "gtest/gtest.h"
#include "runtime/reduce/reference.h"
#include "runtime/reduce/simulated_allreduce.h"
#include "runtime/reduce/supported.h"

namespace reigen::reduce {
namespace {

constexpr ReduceOp kOps[] = {ReduceOp::kAverage, ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax,
                             ReduceOp::kProduct};

class TableTest : public testing::TestWithParam<std::tuple<int, ReduceOp>> {
 protected:
  DataType dtype() const { return static_cast<DataType>(std::get<0>(GetParam())); }
  ReduceOp op() const { return std::get<1>(GetParam()); }

  AllreduceCase Case(int hosts, int ranks, size_t count, Data data, uint64_t seed) const {
    AllreduceCase c;
    c.dtype = c.wire = dtype();
    c.op = op();
    c.hosts = hosts;
    c.divisor = op() == ReduceOp::kAverage ? static_cast<uint64_t>(ranks) : 1;
    for (int r = 0; r < ranks; ++r) {
      c.inputs.push_back(MakeData(dtype(), data, count, seed + static_cast<uint64_t>(r)));
    }
    return c;
  }

  // Both ways between hosts, and both wire types of halves.
  static void Check(AllreduceCase c) {
    const size_t count = c.inputs[0].size() / ElementBytes(c.dtype);
    for (DataType wire : {c.dtype, DataType::kFloat32}) {
      if (wire != c.dtype && !IsHalf(c.dtype)) continue;
      c.wire = wire;
      for (Shape shape : {Shape::kChain, Shape::kTree}) {
        std::string message;
        EXPECT_TRUE(WithinR3(c, SimulatedAllreduce(c, shape, 0, count), &message)) << message;
      }
    }
  }
};

std::string TableName(const testing::TestParamInfo<std::tuple<int, ReduceOp>>& info) {
  const auto dtype = static_cast<DataType>(std::get<0>(info.param));
  return std::string(Name(dtype)) + "_" + std::string(Name(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(All, TableTest,
                         testing::Combine(testing::Range(0, kDataTypeCount),
                                          testing::ValuesIn(kOps)),
                         TableName);

TEST_P(TableTest, PlainDataOfAllLengthsAndHosts) {
  if (!SupportedReduction(dtype(), op(), 1, 1)) return;
  uint64_t seed = 1;
  for (size_t count : {0, 1, 7, 8, 1000, 1023}) {
    for (int hosts : {1, 2, 3}) Check(Case(hosts, hosts * 2, count, Data::kPlain, seed += 100));
  }
  Check(Case(1, 1, 1023, Data::kPlain, 7));
  Check(Case(1, 9, 1023, Data::kPlain, 8));
}

TEST_P(TableTest, AnyBitsAndCorners) {
  if (!SupportedReduction(dtype(), op(), 1, 1)) return;
  for (Data data : {Data::kAnyBits, Data::kCorners}) {
    for (int ranks : {1, 2, 4}) {
      Check(Case(1, ranks, 333, data, 40));
      Check(Case(ranks, ranks, 333, data, 50));
    }
  }
}

TEST_P(TableTest, Scales) {
  if (!SupportedReduction(dtype(), op(), 0.5, 1)) return;
  constexpr std::pair<double, double> kScales[] = {
      {0.25, 0.5}, {1.0 / 3, 1}, {1, 1e-3}, {-2.5, 7}, {1e5, 1}, {1, 1e5}};
  for (const auto& [prescale, postscale] : kScales) {
    for (Data data : {Data::kPlain, Data::kAnyBits, Data::kCorners}) {
      AllreduceCase c = Case(2, 4, 271, data, 60);
      c.prescale = prescale;
      c.postscale = postscale;
      Check(c);
    }
  }
}

TEST_P(TableTest, OutputsMayBeInputsAndAreAllWritten) {
  if (!SupportedReduction(dtype(), op(), 1, 1)) return;
  constexpr size_t kCount = 1023;
  const AllreduceCase c = Case(1, 3, kCount, Data::kAnyBits, 70);
  const std::vector<std::byte> want = SimulatedAllreduce(c, Shape::kChain, 0, kCount);
  auto buffers = c.inputs;
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outs;
  for (auto& buffer : buffers) {
    inputs.push_back(buffer.data());
    outs.push_back(buffer.data());
  }
  ReduceFinal(SpecOf(c), inputs, nullptr, outs, kCount);
  for (const auto& buffer : buffers) EXPECT_EQ(buffer, want);
}

TEST_P(TableTest, CombineWireMayWriteToEitherOperand) {
  if (!SupportedReduction(dtype(), op(), 1, 1)) return;
  constexpr size_t kCount = 1023;
  const AllreduceCase c = Case(2, 2, kCount, Data::kAnyBits, 80);
  std::vector<std::byte> apart(c.inputs[0].size());
  CombineWire(SpecOf(c), c.inputs[0].data(), c.inputs[1].data(), apart.data(), kCount);
  for (size_t target : {0, 1}) {
    auto buffers = c.inputs;
    CombineWire(SpecOf(c), buffers[0].data(), buffers[1].data(), buffers[target].data(), kCount);
    EXPECT_EQ(buffers[target], apart);
    EXPECT_EQ(buffers[1 - target], c.inputs[1 - target]);
  }
}

TEST_P(TableTest, NothingBeyondTheCountIsTouched) {
  if (!SupportedReduction(dtype(), op(), 1, 1)) return;
  for (size_t count : {0, 1, 7, 63, 250, 1001}) {
    const AllreduceCase c = Case(1, 2, count, Data::kPlain, 90);
    const size_t bytes = count * ElementBytes(dtype());
    std::vector<std::byte> guarded(bytes + 128, std::byte{0xa5});
    const std::byte* inputs[] = {c.inputs[0].data(), c.inputs[1].data()};
    std::byte* out = guarded.data() + 64;
    ReduceFinal(SpecOf(c), inputs, nullptr, {&out, 1}, count);
    for (size_t i = 0; i < 64; ++i) {
      ASSERT_EQ(guarded[i], std::byte{0xa5});
      ASSERT_EQ(guarded[64 + bytes + i], std::byte{0xa5});
    }
  }
}

}  // namespace
}  // namespace reigen::reduce
