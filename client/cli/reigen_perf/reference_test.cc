#include "client/cli/reigen_perf/reference.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace reigen::perf {
namespace {

std::vector<std::byte> Filled(const Pattern& pattern, int rank, size_t count) {
  std::vector<std::byte> data(count * DtypeBytes(pattern.dtype));
  Fill(pattern, rank, data);
  return data;
}

template <typename T>
T At(const std::vector<std::byte>& data, size_t index) {
  T value;
  std::memcpy(&value, data.data() + index * sizeof(T), sizeof(T));
  return value;
}

TEST(ReferenceTest, SumOfFloatsIsAcceptedAndOneChangedBitIsNot) {
  const Pattern pattern{{"sum", false, REIGEN_SUM}, REIGEN_FLOAT32, 3, 0, 7};
  constexpr size_t kCount = 1000;
  std::vector<float> sum(kCount, 0.0f);
  for (int rank = 0; rank < 3; ++rank) {
    const std::vector<std::byte> data = Filled(pattern, rank, kCount);
    for (size_t i = 0; i < kCount; ++i) sum[i] += At<float>(data, i);
  }
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(sum));
  EXPECT_EQ(0u, CountWrong(pattern, bytes));
  bytes[400] ^= std::byte{1};
  EXPECT_EQ(1u, CountWrong(pattern, bytes));
  std::swap(sum[10], sum[11]);
  sum[20] += 1;
  EXPECT_GE(CountWrong(pattern, bytes), 2u);
}

TEST(ReferenceTest, WholeNumbersWrapAndAverageDividesTowardZero) {
  const Pattern pattern{{"average", false, REIGEN_AVERAGE}, REIGEN_INT8, 5, 0, 1};
  constexpr size_t kCount = 500;
  std::vector<int8_t> result(kCount, 0);
  for (int rank = 0; rank < 5; ++rank) {
    const std::vector<std::byte> data = Filled(pattern, rank, kCount);
    for (size_t i = 0; i < kCount; ++i) {
      result[i] = static_cast<int8_t>(result[i] + At<int8_t>(data, i));
    }
  }
  for (int8_t& value : result) value = static_cast<int8_t>(value / 5);
  EXPECT_EQ(0u, CountWrong(pattern, std::as_bytes(std::span(result))));
}

TEST(ReferenceTest, RanksAndSeedsHaveOtherValues) {
  const Pattern pattern{{"sum", false, REIGEN_SUM}, REIGEN_INT32, 2, 0, 1};
  Pattern other = pattern;
  other.seed = 2;
  EXPECT_NE(Filled(pattern, 0, 64), Filled(pattern, 1, 64));
  EXPECT_NE(Filled(pattern, 0, 64), Filled(other, 0, 64));
}

TEST(ReferenceTest, OneRankGetsItsInputBackForEveryOperationAndType) {
  for (const bool broadcast : {false, true}) {
    for (const reigen_op op : {REIGEN_SUM, REIGEN_AVERAGE, REIGEN_MIN, REIGEN_MAX, REIGEN_PRODUCT}) {
      for (int dtype = REIGEN_UINT8; dtype <= REIGEN_BOOL; ++dtype) {
        const Pattern pattern{{"", broadcast, op}, static_cast<reigen_dtype>(dtype), 1, 0, 3};
        EXPECT_EQ(0u, CountWrong(pattern, Filled(pattern, 0, 333))) << op << " " << dtype;
      }
    }
  }
}

TEST(ReferenceTest, HalvesHaveTheirKnownBits) {
  const Pattern pattern{{"product", false, REIGEN_PRODUCT}, REIGEN_FLOAT16, 1, 0, 0};
  const std::vector<std::byte> half = Filled(pattern, 0, 64);
  const Pattern single{{"product", false, REIGEN_PRODUCT}, REIGEN_FLOAT32, 1, 0, 0};
  const std::vector<std::byte> full = Filled(single, 0, 64);
  for (size_t i = 0; i < 64; ++i) {
    const float value = At<float>(full, i);
    const uint16_t expected = value == 1 ? 0x3c00 : value == -1 ? 0xbc00 : value == 2 ? 0x4000
                              : value == -2 ? 0xc000 : 0x3800;
    EXPECT_EQ(expected, At<uint16_t>(half, i)) << value;
  }
}

}  // namespace
}  // namespace reigen::perf
