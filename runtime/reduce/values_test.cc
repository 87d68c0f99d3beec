// Goal: the values that the documentation promises, spelt out. Method: each value
// at every place of vectors and tails, through every path between hosts.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/reduce/kernels.h"
#include "runtime/reduce/reference.h"
#include "runtime/reduce/simulated_allreduce.h"

namespace reigen::reduce {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
constexpr DataType kFloats[] = {DataType::kFloat16, DataType::kBFloat16, DataType::kFloat32,
                                DataType::kFloat64};

struct Result {
  long double value;
  std::vector<std::byte> bits;
};

// All-reduces `per_rank` values, each repeated over `count` elements; checks that
// all elements come out equal, and returns one.
Result Reduce(DataType dtype, ReduceOp op, const std::vector<long double>& per_rank, int hosts,
              Shape shape, DataType wire, double prescale = 1, double postscale = 1,
              size_t count = 1) {
  AllreduceCase c;
  c.dtype = dtype;
  c.wire = wire;
  c.op = op;
  c.hosts = hosts;
  c.prescale = prescale;
  c.postscale = postscale;
  c.divisor = op == ReduceOp::kAverage ? per_rank.size() : 1;
  for (long double v : per_rank) {
    c.inputs.emplace_back(count * ElementBytes(dtype));
    for (size_t i = 0; i < count; ++i) Encode(dtype, v, c.inputs.back(), i);
  }
  const auto out = SimulatedAllreduce(c, shape, 0, count);
  const size_t bytes = ElementBytes(dtype);
  for (size_t i = 1; i < count; ++i) {
    EXPECT_EQ(std::memcmp(out.data(), out.data() + i * bytes, bytes), 0) << "element " << i;
  }
  return {Decode(dtype, out, 0), {out.begin(), out.begin() + static_cast<long>(bytes)}};
}

// On one host.
long double Local(DataType dtype, ReduceOp op, const std::vector<long double>& per_rank,
                  double prescale = 1, double postscale = 1) {
  return Reduce(dtype, op, per_rank, 1, Shape::kChain, dtype, prescale, postscale).value;
}

TEST(HalfTest, AverageOfGreatValuesDoesNotOverflow) {
  const std::vector<long double> great(8, 60000);
  for (int hosts : {1, 2, 4, 8}) {
    for (Shape shape : {Shape::kChain, Shape::kTree}) {
      EXPECT_EQ(Reduce(DataType::kFloat16, ReduceOp::kAverage, great, hosts, shape,
                       DataType::kFloat32).value,
                60000 - 60000 % 32);
      EXPECT_EQ(Reduce(DataType::kFloat16, ReduceOp::kSum, great, hosts, shape,
                       DataType::kFloat16).value,
                kInf);
    }
  }
}

TEST(HalfTest, AverageOfTinyValuesDoesNotVanish) {
  const long double tiny = RoundTo(DataType::kFloat16, 6e-8L);
  for (int hosts : {1, 2, 8}) {
    EXPECT_EQ(Reduce(DataType::kFloat16, ReduceOp::kAverage, std::vector<long double>(8, tiny), hosts,
                     Shape::kChain, DataType::kFloat32).value,
              tiny);
  }
}

TEST(HalfTest, PowersOfTwoAsScalesAreExact) {
  const std::vector<long double> values(8, 60000 - 60000 % 32);
  EXPECT_EQ(Local(DataType::kFloat16, ReduceOp::kSum, values, 0.25, 0.5), values[0]);
}

TEST(HalfTest, BFloat16IsAddedInFloat32AndRoundedOnce) {
  EXPECT_EQ(Local(DataType::kBFloat16, ReduceOp::kSum, {256, 1}), 256);        // tie to even
  EXPECT_EQ(Local(DataType::kBFloat16, ReduceOp::kSum, {256, 1, 1}), 258);     // not 256 + 1 twice
  EXPECT_EQ(Local(DataType::kBFloat16, ReduceOp::kSum, {256, 1, 1, 1}), 260);  // 259, tie to even
}

TEST(NanTest, AnyRanksNanIsTheCanonicalNanEverywhere) {
  for (DataType dtype : kFloats) {
    std::vector<std::byte> canonical(ElementBytes(dtype));
    Encode(dtype, kNan, canonical, 0);
    for (ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kSum, ReduceOp::kProduct}) {
      for (size_t holder = 0; holder < 4; ++holder) {
        std::vector<long double> values = {1, 5, 3, 4};
        values[holder] = holder % 2 == 0 ? kNan : -kNan;
        for (size_t count : {1, 7, 8, 1000}) {
          for (int hosts : {1, 2, 4}) {
            for (Shape shape : {Shape::kChain, Shape::kTree}) {
              const Result r = Reduce(dtype, op, values, hosts, shape, dtype, 1, 1, count);
              EXPECT_EQ(r.bits, canonical) << Name(dtype) << ' ' << Name(op) << " rank " << holder;
            }
          }
        }
      }
    }
  }
}

TEST(NanTest, OppositeInfinitiesGiveNanAndOneGivesItself) {
  for (DataType dtype : kFloats) {
    EXPECT_TRUE(std::isnan(Local(dtype, ReduceOp::kSum, {kInf, 1, -kInf, 2})));
    EXPECT_TRUE(std::isnan(Local(dtype, ReduceOp::kProduct, {kInf, 0})));
    for (const auto& values : {std::vector<long double>{-kInf, 1, 2}, {1, -kInf, 2}, {1, 2, -kInf}}) {
      EXPECT_EQ(Local(dtype, ReduceOp::kSum, values), -kInf);
      EXPECT_EQ(Local(dtype, ReduceOp::kMin, values), -kInf);
      EXPECT_EQ(Local(dtype, ReduceOp::kMax, values), 2);
    }
  }
}

TEST(ZeroTest, MinIsTheNegativeZeroAndMaxThePositive) {
  for (DataType dtype : kFloats) {
    for (const auto& values : {std::vector<long double>{-0.0L, 0.0L}, {0.0L, -0.0L}}) {
      for (int hosts : {1, 2}) {
        const auto min = Reduce(dtype, ReduceOp::kMin, values, hosts, Shape::kTree, dtype, 1, 1, 100);
        const auto max = Reduce(dtype, ReduceOp::kMax, values, hosts, Shape::kTree, dtype, 1, 1, 100);
        EXPECT_TRUE(min.value == 0 && std::signbit(min.value)) << Name(dtype);
        EXPECT_TRUE(max.value == 0 && !std::signbit(max.value)) << Name(dtype);
      }
    }
    EXPECT_TRUE(std::signbit(Local(dtype, ReduceOp::kSum, {-0.0L, -0.0L})));
    EXPECT_FALSE(std::signbit(Local(dtype, ReduceOp::kSum, {-0.0L, 0.0L})));
  }
}

TEST(BoolTest, SumAndMaxAreOrProductAndMinAreAnd) {
  const std::vector<long double> mixed = {0, 1, 0};
  const std::vector<long double> ones = {1, 1, 1};
  const std::vector<long double> zeros = {0, 0, 0};
  for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax}) {
    EXPECT_EQ(Local(DataType::kBool, op, mixed), 1);
    EXPECT_EQ(Local(DataType::kBool, op, ones), 1);
    EXPECT_EQ(Local(DataType::kBool, op, zeros), 0);
  }
  for (ReduceOp op : {ReduceOp::kProduct, ReduceOp::kMin}) {
    EXPECT_EQ(Local(DataType::kBool, op, mixed), 0);
    EXPECT_EQ(Local(DataType::kBool, op, ones), 1);
    EXPECT_EQ(Local(DataType::kBool, op, zeros), 0);
  }
}

TEST(BoolTest, BytesOtherThanOneCountAsOne) {
  const std::byte a[] = {std::byte{2}, std::byte{0xff}, std::byte{0}};
  const std::byte b[] = {std::byte{1}, std::byte{4}, std::byte{0}};
  const std::byte* inputs[] = {a, b};
  const std::vector<std::byte> want = {std::byte{1}, std::byte{1}, std::byte{0}};
  for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kProduct}) {
    std::vector<std::byte> out(3);
    std::byte* p = out.data();
    ReduceFinal({DataType::kBool, DataType::kBool, op, 1, 1, 1}, inputs, nullptr, {&p, 1}, 3);
    EXPECT_EQ(out, want) << Name(op);
  }
}

TEST(IntTest, SumAndProductWrap) {
  EXPECT_EQ(Local(DataType::kInt8, ReduceOp::kSum, {127, 1}), -128);
  EXPECT_EQ(Local(DataType::kUint8, ReduceOp::kSum, {255, 2}), 1);
  EXPECT_EQ(Local(DataType::kInt16, ReduceOp::kSum, {32767, 2}), -32767);
  EXPECT_EQ(Local(DataType::kInt8, ReduceOp::kProduct, {100, 3}), 300 - 256);
  EXPECT_EQ(Local(DataType::kUint8, ReduceOp::kProduct, {200, 200}), 40000 % 256);
  EXPECT_EQ(Local(DataType::kInt32, ReduceOp::kProduct, {65536, 65536}), 0);
  const long double max64 = static_cast<long double>(std::numeric_limits<int64_t>::max());
  const long double min64 = static_cast<long double>(std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Local(DataType::kInt64, ReduceOp::kSum, {max64, 1}), min64);
  EXPECT_EQ(Local(DataType::kInt64, ReduceOp::kProduct, {max64, 2}), -2);
  EXPECT_EQ(Local(DataType::kInt64, ReduceOp::kMin, {max64, min64, 0}), min64);
  EXPECT_EQ(Local(DataType::kInt64, ReduceOp::kMax, {-5, min64, -7}), -5);
}

TEST(IntTest, AverageTruncatesTowardZeroAndIsExact) {
  for (DataType dtype : {DataType::kInt8, DataType::kInt16, DataType::kInt32, DataType::kInt64}) {
    EXPECT_EQ(Local(dtype, ReduceOp::kAverage, {3, 4}), 3) << Name(dtype);
    EXPECT_EQ(Local(dtype, ReduceOp::kAverage, {-3, -4}), -3) << Name(dtype);
    EXPECT_EQ(Local(dtype, ReduceOp::kAverage, {-1, 0, 0}), 0) << Name(dtype);
  }
  EXPECT_EQ(Local(DataType::kUint8, ReduceOp::kAverage, {100, 101}), 100);
  const long double great = 9007199254740993;  // no float64
  EXPECT_EQ(Local(DataType::kInt64, ReduceOp::kAverage, {great, great, great}), great);
}

TEST(IntTest, ScalesTruncateTowardZeroAndSaturate) {
  EXPECT_EQ(Local(DataType::kInt32, ReduceOp::kSum, {7, 7}, 0.5), 6);   // 3 + 3
  EXPECT_EQ(Local(DataType::kInt32, ReduceOp::kSum, {7, 8}, 1, 0.5), 7);
  EXPECT_EQ(Local(DataType::kInt32, ReduceOp::kSum, {-7}, 0.5), -3);
  EXPECT_EQ(Local(DataType::kInt8, ReduceOp::kSum, {100}, 2), 127);
  EXPECT_EQ(Local(DataType::kUint8, ReduceOp::kSum, {100}, -1), 0);
  EXPECT_EQ(Local(DataType::kInt32, ReduceOp::kMax, {2000000000}, 1, -2), -2147483648.0L);
  EXPECT_EQ(Local(DataType::kInt64, ReduceOp::kSum, {4}, kNan), 0);
  EXPECT_EQ(Local(DataType::kInt32, ReduceOp::kSum, {16777217}, 1, 3), 50331651);  // by float64
}

}  // namespace
}  // namespace reigen::reduce
