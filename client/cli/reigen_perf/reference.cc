#include "client/cli/reigen_perf/reference.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace reigen::perf {
namespace {

// Halves, converted with rounding to nearest even. Written apart from the product's
// kernels: they are what is checked.
uint16_t Bfloat16Bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Finite values within float16's normal range, and 0.
uint16_t Float16Bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude == 0) return static_cast<uint16_t>(sign);
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
}

// A number of 0 ... 7 that depends on every bit of where it stands.
uint32_t Mix(uint32_t seed, int rank, uint64_t index) {
  uint32_t x = static_cast<uint32_t>(index) * 0x9e3779b1u;
  x ^= static_cast<uint32_t>(index >> 32) * 0x27d4eb2fu;
  x += static_cast<uint32_t>(rank) * 0x85ebca77u + seed * 0xc2b2ae3du;
  x ^= x >> 15;
  return (x * 0x2c1b3c6du) >> 29;
}

// The value of a rank at an index, as a number that every dtype can hold.
double Value(const Pattern& pattern, int rank, uint64_t index) {
  const uint32_t mixed = Mix(pattern.seed, rank, index);
  if (pattern.dtype == REIGEN_BOOL) return mixed == 0 || (rank + mixed) % 2 == 0;
  const bool is_float = pattern.dtype == REIGEN_FLOAT16 || pattern.dtype == REIGEN_BFLOAT16 ||
                        pattern.dtype == REIGEN_FLOAT32 || pattern.dtype == REIGEN_FLOAT64;
  if (!pattern.operation.is_broadcast && pattern.operation.op == REIGEN_PRODUCT) {
    constexpr double kFloats[] = {1, -1, 2, 0.5, 1, -1, -2, 1};
    constexpr double kInts[] = {1, 3, 2, 1, 1, 5, 1, 1};
    if (rank >= 8) return is_float ? kFloats[mixed & 1] : 1;
    return is_float ? kFloats[mixed] : kInts[mixed];
  }
  const bool is_signed = pattern.dtype != REIGEN_UINT8;
  return is_signed ? static_cast<double>(mixed) - 4 : static_cast<double>(mixed);
}

// The reduction over all ranks, before an average divides; exact.
double Reduce(const Pattern& pattern, uint64_t index) {
  double total = Value(pattern, 0, index);
  for (int rank = 1; rank < pattern.ranks; ++rank) {
    const double value = Value(pattern, rank, index);
    switch (pattern.operation.op) {
      case REIGEN_MIN: total = std::min(total, value); break;
      case REIGEN_MAX: total = std::max(total, value); break;
      case REIGEN_PRODUCT: total *= value; break;
      case REIGEN_SUM:
      case REIGEN_AVERAGE: total += value; break;
    }
  }
  return total;
}

bool ReduceBools(const Pattern& pattern, uint64_t index) {
  const bool all = pattern.operation.op == REIGEN_PRODUCT || pattern.operation.op == REIGEN_MIN;
  for (int rank = 0; rank < pattern.ranks; ++rank) {
    if ((Value(pattern, rank, index) != 0) != all) return !all;
  }
  return all;
}

// Whole numbers wrap to their type, also before they are divided (toward zero).
template <typename T>
T Whole(double total, int divisor) {
  const auto wrapped = static_cast<T>(static_cast<uint64_t>(static_cast<int64_t>(total)));
  return static_cast<T>(wrapped / divisor);
}

// Calls use(index, element) with number(index) / divisor as the dtype.
template <typename Number, typename Use>
void ForEach(reigen_dtype dtype, uint64_t count, int divisor, Number number, Use use) {
  const auto as_float = [&](uint64_t i) {
    return static_cast<float>(number(i)) / static_cast<float>(divisor);
  };
  const auto as_whole = [&]<typename T>(T) {
    for (uint64_t i = 0; i < count; ++i) use(i, Whole<T>(number(i), divisor));
  };
  switch (dtype) {
    case REIGEN_FLOAT16:
      for (uint64_t i = 0; i < count; ++i) use(i, Float16Bits(as_float(i)));
      return;
    case REIGEN_BFLOAT16:
      for (uint64_t i = 0; i < count; ++i) use(i, Bfloat16Bits(as_float(i)));
      return;
    case REIGEN_FLOAT32:
      for (uint64_t i = 0; i < count; ++i) use(i, as_float(i));
      return;
    case REIGEN_FLOAT64:
      for (uint64_t i = 0; i < count; ++i) use(i, number(i) / divisor);
      return;
    case REIGEN_INT8: return as_whole(int8_t{});
    case REIGEN_UINT8:
    case REIGEN_BOOL: return as_whole(uint8_t{});
    case REIGEN_INT16: return as_whole(int16_t{});
    case REIGEN_INT32: return as_whole(int32_t{});
    case REIGEN_INT64: return as_whole(int64_t{});
  }
}

}  // namespace

void Fill(const Pattern& pattern, int rank, std::span<std::byte> data) {
  const auto put = [&]<typename T>(uint64_t i, T value) {
    std::memcpy(data.data() + i * sizeof(T), &value, sizeof(T));
  };
  ForEach(pattern.dtype, data.size() / DtypeBytes(pattern.dtype), 1,
          [&](uint64_t i) { return Value(pattern, rank, i); }, put);
}

uint64_t CountWrong(const Pattern& pattern, std::span<const std::byte> data) {
  const Operation& operation = pattern.operation;
  const bool average = !operation.is_broadcast && operation.op == REIGEN_AVERAGE;
  const auto number = [&](uint64_t i) -> double {
    if (operation.is_broadcast) return Value(pattern, pattern.root, i);
    if (pattern.dtype == REIGEN_BOOL) return ReduceBools(pattern, i);
    return Reduce(pattern, i);
  };
  uint64_t wrong = 0;
  const auto compare = [&]<typename T>(uint64_t i, T expected) {
    wrong += std::memcmp(data.data() + i * sizeof(T), &expected, sizeof(T)) != 0;
  };
  ForEach(pattern.dtype, data.size() / DtypeBytes(pattern.dtype), average ? pattern.ranks : 1,
          number, compare);
  return wrong;
}

}  // namespace reigen::perf
