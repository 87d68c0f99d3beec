// Elements as numbers, by arithmetic on long double alone.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "runtime/base/check.h"
#include "runtime/reduce/reference.h"

namespace reigen::reduce {
namespace {

constexpr long double kInf = std::numeric_limits<long double>::infinity();
constexpr long double kNan = std::numeric_limits<long double>::quiet_NaN();

// A binary format: mantissa bits with the hidden one, exponents of normals.
struct Format {
  int mantissa_bits;
  int exponent_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int least_exponent() const { return 1 - bias(); }
  long double greatest() const { return std::ldexp(2.0L - std::ldexp(2.0L, -mantissa_bits), bias()); }
};

Format FormatOf(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16: return {11, 5};
    case DataType::kBFloat16: return {8, 8};
    case DataType::kFloat32: return {24, 8};
    default: return {53, 11};
  }
}

template <typename T>
T At(std::span<const std::byte> elements, size_t i) {
  T v;
  std::memcpy(&v, elements.data() + i * sizeof v, sizeof v);
  return v;
}

template <typename T>
void Put(std::span<std::byte> elements, size_t i, T v) {
  std::memcpy(elements.data() + i * sizeof v, &v, sizeof v);
}

uint64_t Bits(DataType dtype, std::span<const std::byte> elements, size_t i) {
  switch (ElementBytes(dtype)) {
    case 2: return At<uint16_t>(elements, i);
    case 4: return At<uint32_t>(elements, i);
    default: return At<uint64_t>(elements, i);
  }
}

long double DecodeFloat(const Format& f, uint64_t bits) {
  const int stored = f.mantissa_bits - 1;
  const uint64_t mantissa = bits & ((uint64_t{1} << stored) - 1);
  const int exponent = static_cast<int>((bits >> stored) & ((1u << f.exponent_bits) - 1));
  const bool negative = ((bits >> (stored + f.exponent_bits)) & 1) != 0;
  long double v;
  if (exponent == (1 << f.exponent_bits) - 1) {
    v = mantissa == 0 ? kInf : kNan;
  } else if (exponent == 0) {
    v = std::ldexp(static_cast<long double>(mantissa), f.least_exponent() - stored);
  } else {
    v = std::ldexp(static_cast<long double>(mantissa) + std::ldexp(1.0L, stored),
                   exponent - f.bias() - stored);
  }
  return negative ? -v : v;
}

long double RoundToFormat(const Format& f, long double v) {
  if (!std::isfinite(v) || v == 0) return v;
  int exponent;
  std::frexp(v, &exponent);  // v = m * 2^exponent, 0.5 <= m < 1
  const int least_place = std::max(exponent - 1, f.least_exponent()) - (f.mantissa_bits - 1);
  const long double rounded = std::ldexp(std::nearbyint(std::ldexp(v, -least_place)), least_place);
  if (std::fabs(rounded) > f.greatest()) return std::copysign(kInf, v);
  return std::copysign(rounded, v);
}

uint64_t EncodeFloat(const Format& f, long double v) {
  const int stored = f.mantissa_bits - 1;
  const uint64_t sign = std::signbit(v) ? uint64_t{1} << (stored + f.exponent_bits) : 0;
  const uint64_t infinite = ((uint64_t{1} << f.exponent_bits) - 1) << stored;
  if (std::isnan(v)) return infinite | (uint64_t{1} << (stored - 1));
  if (std::isinf(v)) return sign | infinite;
  if (v == 0) return sign;
  int exponent;
  std::frexp(v, &exponent);
  const int place = std::max(exponent - 1, f.least_exponent());
  const auto mantissa = static_cast<uint64_t>(std::ldexp(std::fabs(v), stored - place));
  const bool normal = mantissa >> stored != 0;
  const uint64_t biased = normal ? static_cast<uint64_t>(place + f.bias()) : 0;
  return sign | (biased << stored) | (mantissa & ((uint64_t{1} << stored) - 1));
}

template <typename Int>
long double RoundToInt(long double v) {
  using Limits = std::numeric_limits<Int>;
  if (std::isnan(v)) return 0;
  v = std::trunc(v);
  if (v > static_cast<long double>(Limits::max())) return static_cast<long double>(Limits::max());
  if (v < static_cast<long double>(Limits::min())) return static_cast<long double>(Limits::min());
  return v;
}

}  // namespace

long double Decode(DataType dtype, std::span<const std::byte> elements, size_t i) {
  switch (dtype) {
    case DataType::kUint8: return At<uint8_t>(elements, i);
    case DataType::kInt8: return At<int8_t>(elements, i);
    case DataType::kInt16: return At<int16_t>(elements, i);
    case DataType::kInt32: return At<int32_t>(elements, i);
    case DataType::kInt64: return static_cast<long double>(At<int64_t>(elements, i));
    case DataType::kBool: return At<uint8_t>(elements, i) != 0 ? 1 : 0;
    default: return DecodeFloat(FormatOf(dtype), Bits(dtype, elements, i));
  }
}

long double RoundTo(DataType dtype, long double value) {
  switch (dtype) {
    case DataType::kUint8: return RoundToInt<uint8_t>(value);
    case DataType::kInt8: return RoundToInt<int8_t>(value);
    case DataType::kInt16: return RoundToInt<int16_t>(value);
    case DataType::kInt32: return RoundToInt<int32_t>(value);
    case DataType::kInt64: return RoundToInt<int64_t>(value);
    case DataType::kBool: return value != 0 ? 1 : 0;
    default: return RoundToFormat(FormatOf(dtype), value);
  }
}

void Encode(DataType dtype, long double value, std::span<std::byte> elements, size_t i) {
  const long double v = RoundTo(dtype, value);
  if (!IsFloat(dtype)) {
    const auto bits = static_cast<uint64_t>(static_cast<int64_t>(v));
    std::memcpy(elements.data() + i * ElementBytes(dtype), &bits, ElementBytes(dtype));
    return;
  }
  const uint64_t bits = EncodeFloat(FormatOf(dtype), v);
  switch (ElementBytes(dtype)) {
    case 2: return Put(elements, i, static_cast<uint16_t>(bits));
    case 4: return Put(elements, i, static_cast<uint32_t>(bits));
    default: return Put(elements, i, bits);
  }
}

std::vector<std::byte> MakeData(DataType dtype, Data data, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> out(count * ElementBytes(dtype));
  const long double corners[] = {0.0L, -0.0L, 1, -1, kInf, -kInf, kNan,
                                 RoundTo(dtype, 1e-40L), RoundTo(dtype, 1e-7L),
                                 IsFloat(dtype) ? FormatOf(dtype).greatest() : 1e30L, -1e30L, 3};
  for (size_t i = 0; i < count; ++i) {
    if (data == Data::kAnyBits && dtype != DataType::kBool) {
      const uint64_t bits = random();
      std::memcpy(out.data() + i * ElementBytes(dtype), &bits, ElementBytes(dtype));
    } else if (data == Data::kCorners) {
      Encode(dtype, corners[random() % std::size(corners)], out, i);
    } else if (IsFloat(dtype)) {
      // -8..8 in steps of 1/1024, so that equal values happen.
      Encode(dtype, static_cast<long double>(static_cast<int>(random() % 16385) - 8192) / 1024, out, i);
    } else {
      Encode(dtype, static_cast<long double>(static_cast<int>(random() % 41) - 20), out, i);
    }
  }
  return out;
}

}  // namespace reigen::reduce
