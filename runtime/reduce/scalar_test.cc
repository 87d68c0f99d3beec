// Goal: conversions are the nearest value for every bit pattern, and an
// all-reduce of one rank without Highway has the kernels' bits. Method: all
// halves, and floats at, below and above each half and each midpoint.
#include "runtime/reduce/scalar.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "gtest/gtest.h"
#include "runtime/reduce/kernels.h"
#include "runtime/reduce/reference.h"
#include "runtime/reduce/supported.h"

namespace reigen::reduce {
namespace {

long double DecodeHalf(DataType dtype, uint16_t half) {
  return Decode(dtype, std::as_bytes(std::span(&half, 1)), 0);
}

uint16_t EncodeHalf(DataType dtype, float v) {
  uint16_t half;
  Encode(dtype, v, std::as_writable_bytes(std::span(&half, 1)), 0);
  return half;
}

void ExpectNearest(float v) {
  EXPECT_EQ(scalar::FloatToFloat16(v), EncodeHalf(DataType::kFloat16, v)) << v;
  EXPECT_EQ(scalar::FloatToBFloat16(v), EncodeHalf(DataType::kBFloat16, v)) << v;
}

TEST(ScalarTest, EveryHalfBecomesItsFloat) {
  for (uint32_t i = 0; i <= 0xffff; ++i) {
    const auto half = static_cast<uint16_t>(i);
    const float f16 = scalar::Float16ToFloat(half);
    const float bf16 = scalar::BFloat16ToFloat(half);
    const long double want_f16 = DecodeHalf(DataType::kFloat16, half);
    const long double want_bf16 = DecodeHalf(DataType::kBFloat16, half);
    EXPECT_TRUE(std::isnan(want_f16) ? std::isnan(f16) : f16 == want_f16) << i;
    EXPECT_TRUE(std::isnan(want_bf16) ? std::isnan(bf16) : bf16 == want_bf16) << i;
    EXPECT_EQ(std::signbit(f16), (i & 0x8000) != 0);
    EXPECT_EQ(scalar::FloatToFloat16(f16), std::isnan(f16) ? scalar::kFloat16Nan : half);
    EXPECT_EQ(scalar::FloatToBFloat16(bf16), std::isnan(bf16) ? scalar::kBFloat16Nan : half);
  }
}

TEST(ScalarTest, FloatsRoundToTheNearestHalfTiesToEven) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (uint32_t i = 0; i < 0x7c00; ++i) {
    const float low = scalar::Float16ToFloat(static_cast<uint16_t>(i));
    const float high = i + 1 == 0x7c00 ? 65536 : scalar::Float16ToFloat(static_cast<uint16_t>(i + 1));
    const float middle = low + (high - low) / 2;
    for (float v : {low, middle, std::nextafter(middle, -kInf), std::nextafter(middle, kInf)}) {
      ExpectNearest(v);
      ExpectNearest(-v);
    }
  }
  std::mt19937 random(3);
  for (int i = 0; i < 200'000; ++i) {
    const float v = std::bit_cast<float>(static_cast<uint32_t>(random()));
    ExpectNearest(v);
  }
  for (float v : {0.0f, -0.0f, kInf, -kInf, std::nanf(""), std::numeric_limits<float>::max(),
                  std::numeric_limits<float>::denorm_min()}) {
    ExpectNearest(v);
  }
}

TEST(ScalarTest, ToIntSaturatesAndTruncates) {
  EXPECT_EQ((scalar::ToIntSaturating<int8_t>(127.9f)), 127);
  EXPECT_EQ((scalar::ToIntSaturating<int8_t>(-128.9f)), -128);
  EXPECT_EQ((scalar::ToIntSaturating<int8_t>(-3.9f)), -3);
  EXPECT_EQ((scalar::ToIntSaturating<int8_t>(300.0f)), 127);
  EXPECT_EQ((scalar::ToIntSaturating<uint8_t>(-1.0f)), 0);
  EXPECT_EQ((scalar::ToIntSaturating<uint8_t>(255.5f)), 255);
  EXPECT_EQ((scalar::ToIntSaturating<int32_t>(1e10)), std::numeric_limits<int32_t>::max());
  EXPECT_EQ((scalar::ToIntSaturating<int64_t>(9.3e18)), std::numeric_limits<int64_t>::max());
  EXPECT_EQ((scalar::ToIntSaturating<int64_t>(-9.3e18)), std::numeric_limits<int64_t>::min());
  EXPECT_EQ((scalar::ToIntSaturating<int64_t>(std::nan(""))), 0);
  EXPECT_EQ((scalar::ToIntSaturating<int16_t>(-std::numeric_limits<float>::infinity())), -32768);
}

TEST(ScalarTest, DivisionIsExactAndTowardZero) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(scalar::DivideInt<int32_t>(-7, 2), -3);
  EXPECT_EQ(scalar::DivideInt<int32_t>(7, 2), 3);
  EXPECT_EQ(scalar::DivideInt<int64_t>(kMin, 1), kMin);
  EXPECT_EQ(scalar::DivideInt<int64_t>(kMin, 3), kMin / 3);
  EXPECT_EQ(scalar::DivideInt<int64_t>(kMin, uint64_t{1} << 63), -1);
  EXPECT_EQ(scalar::DivideInt<int8_t>(-128, 1000), 0);
  EXPECT_EQ(scalar::DivideInt<uint8_t>(255, 2), 127);
  constexpr int32_t kMin32 = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(scalar::DivideInt<int32_t>(kMin32, 1), kMin32);
  EXPECT_EQ(scalar::DivideInt<int32_t>(kMin32, ~uint64_t{0}), 0);
  std::mt19937 random(17);
  for (int i = 0; i < 200'000; ++i) {
    const auto divisor = static_cast<int64_t>(1 + (random() >> (random() % 32)));
    const auto quotient = static_cast<int64_t>(random() >> (random() % 32)) / divisor;
    for (int64_t near : {quotient * divisor - 1, quotient * divisor, quotient * divisor + 1}) {
      const auto v = static_cast<int32_t>(near);
      EXPECT_EQ(scalar::DivideInt<int32_t>(v, static_cast<uint64_t>(divisor)), v / divisor);
    }
  }
}

TEST(ScalarTest, ScaleCopyHasTheBitsOfReduceFinalWithOneInput) {
  constexpr size_t kCount = 2051;
  const std::pair<double, double> scales[] = {
      {1, 1}, {0.5, 1}, {1, 1.0 / 3}, {0.1, 7}, {-1e6, 1e-3}, {1e300, 1}, {0, 1}, {1, std::nan("")}};
  for (int type = 0; type < kDataTypeCount; ++type) {
    const auto dtype = static_cast<DataType>(type);
    for (Data data : {Data::kPlain, Data::kAnyBits, Data::kCorners}) {
      for (const auto& [prescale, postscale] : scales) {
        if (!SupportedReduction(dtype, ReduceOp::kSum, prescale, postscale)) continue;
        auto in = MakeData(dtype, data, kCount, 9);
        if (dtype == DataType::kBool) in[3] = std::byte{2};
        std::vector<std::byte> want(in.size());
        std::byte* out = want.data();
        const std::byte* input = in.data();
        const ReduceSpec spec{dtype, dtype, ReduceOp::kSum, prescale, postscale, 1};
        ReduceFinal(spec, {&input, 1}, nullptr, {&out, 1}, kCount);
        std::vector<std::byte> got(in.size());
        scalar::ScaleCopy(dtype, prescale, postscale, in.data(), got.data(), kCount);
        EXPECT_EQ(got, want) << Name(dtype) << ' ' << prescale << ' ' << postscale;
        scalar::ScaleCopy(dtype, prescale, postscale, in.data(), in.data(), kCount);
        EXPECT_EQ(in, want) << "in place, " << Name(dtype);
      }
    }
  }
}

}  // namespace
}  // namespace reigen::reduce
