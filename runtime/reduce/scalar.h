// What the kernels mean, one element at a time: conversions, scales, division.
// Header-only and free of dependencies, for libreigen.
//
// Half types convert by rounding to nearest, ties to even; too large becomes
// infinite; a NaN becomes the canonical one. Nothing here has undefined
// behaviour for any value.
#ifndef REIGEN_RUNTIME_REDUCE_SCALAR_H_
#define REIGEN_RUNTIME_REDUCE_SCALAR_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/base/dtype.h"

namespace reigen::reduce::scalar {

inline constexpr uint16_t kFloat16Nan = 0x7e00;
inline constexpr uint16_t kBFloat16Nan = 0x7fc0;
inline constexpr uint32_t kFloat32Nan = 0x7fc00000;
inline constexpr uint64_t kFloat64Nan = 0x7ff8000000000000;

constexpr float Canonical(float v) { return v != v ? std::bit_cast<float>(kFloat32Nan) : v; }
constexpr double Canonical(double v) { return v != v ? std::bit_cast<double>(kFloat64Nan) : v; }

constexpr bool SignBit(float v) { return std::bit_cast<uint32_t>(v) >> 31 != 0; }
constexpr bool SignBit(double v) { return std::bit_cast<uint64_t>(v) >> 63 != 0; }

constexpr float BFloat16ToFloat(uint16_t half) {
  return std::bit_cast<float>(static_cast<uint32_t>(half) << 16);
}

constexpr uint16_t FloatToBFloat16(float v) {
  if (v != v) return kBFloat16Nan;
  const uint32_t bits = std::bit_cast<uint32_t>(v);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

constexpr float Float16ToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) {  // infinite or NaN
    return std::bit_cast<float>(sign | 0x7f800000 | ((magnitude & 0x3ff) << 13));
  }
  if (magnitude >= 0x400) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
  if (magnitude == 0) return std::bit_cast<float>(sign);
  // Subnormal, magnitude * 2^-24: the leading bit's place gives the exponent.
  const int shift = std::countl_zero(magnitude) - 21;  // 1..10, brings it to bit 10
  const uint32_t exponent = static_cast<uint32_t>(113 - shift);
  return std::bit_cast<float>(sign | (exponent << 23) | (((magnitude << shift) & 0x3ff) << 13));
}

constexpr uint16_t FloatToFloat16(float v) {
  if (v != v) return kFloat16Nan;
  const uint32_t bits = std::bit_cast<uint32_t>(v);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x47800000) return sign | 0x7c00;  // 2^16 and above
  if (magnitude >= 0x38800000) {                      // 2^-14 and above: normal
    const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
  }
  const int exponent = static_cast<int>(magnitude >> 23);
  const int shift = 126 - exponent;  // to units of 2^-24
  if (shift > 24) return sign;       // under half a unit
  const uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
  const uint32_t quotient = mantissa >> shift;
  const uint32_t rest = mantissa & ((1u << shift) - 1);
  const uint32_t half = 1u << (shift - 1);
  const uint32_t up = rest > half || (rest == half && (quotient & 1) != 0) ? 1 : 0;
  return static_cast<uint16_t>(sign | (quotient + up));
}

// The type in which scales are applied to a T.
template <typename T>
using ScaleType = std::conditional_t<
    std::is_same_v<T, double> || (std::is_integral_v<T> && sizeof(T) >= 4), double, float>;

// Toward zero; out of range saturates; NaN gives 0.
template <typename Int, typename Float>
constexpr Int ToIntSaturating(Float v) {
  using Limits = std::numeric_limits<Int>;
  // The power of two above max() is exact in Float, max() itself may not be.
  constexpr Float kAbove = static_cast<Float>(Limits::max() / 2 + 1) * Float{2};
  if (v != v) return 0;
  if (v >= kAbove) return Limits::max();
  if (v <= static_cast<Float>(Limits::min())) return Limits::min();
  return static_cast<Int>(v);
}

template <typename Int>
constexpr Int ScaleInt(Int v, ScaleType<Int> scale) {
  return ToIntSaturating<Int>(static_cast<ScaleType<Int>>(v) * scale);
}

// Toward zero, exact. divisor > 0.
template <typename Int>
constexpr Int DivideInt(Int v, uint64_t divisor) {
  if constexpr (sizeof(Int) <= 4) {
    // A quotient that is no whole number is further from one than float64 rounds,
    // and this is what vectors can do.
    return static_cast<Int>(static_cast<double>(v) / static_cast<double>(divisor));
  } else {
    const uint64_t wide = static_cast<uint64_t>(static_cast<int64_t>(v));
    const uint64_t quotient = (v < 0 ? 0 - wide : wide) / divisor;
    return static_cast<Int>(v < 0 ? 0 - quotient : quotient);
  }
}

template <typename Storage, typename Step>
void ForEach(const std::byte* in, std::byte* out, size_t count, Step step) {
  for (size_t i = 0; i < count; ++i) {
    Storage v;
    std::memcpy(&v, in + i * sizeof v, sizeof v);
    v = step(v);
    std::memcpy(out + i * sizeof v, &v, sizeof v);
  }
}

template <typename Int>
void ScaleCopyInt(double prescale, double postscale, const std::byte* in, std::byte* out,
                  size_t count) {
  using Scale = ScaleType<Int>;
  if (prescale == 1.0 && postscale == 1.0) {
    if (out != in && count > 0) std::memcpy(out, in, count * sizeof(Int));
    return;
  }
  ForEach<Int>(in, out, count, [&](Int v) {
    if (prescale != 1.0) v = ScaleInt(v, static_cast<Scale>(prescale));
    if (postscale != 1.0) v = ScaleInt(v, static_cast<Scale>(postscale));
    return v;
  });
}

// An all-reduce of one rank: ReduceFinal of one input with divisor 1, bit for
// bit. Pointers need no alignment; out may be in, and not overlap it otherwise.
inline void ScaleCopy(DataType dtype, double prescale, double postscale, const std::byte* in,
                      std::byte* out, size_t count) {
  const float pre = static_cast<float>(prescale);
  const float post = static_cast<float>(postscale);
  switch (dtype) {
    case DataType::kUint8: return ScaleCopyInt<uint8_t>(prescale, postscale, in, out, count);
    case DataType::kInt8: return ScaleCopyInt<int8_t>(prescale, postscale, in, out, count);
    case DataType::kInt16: return ScaleCopyInt<int16_t>(prescale, postscale, in, out, count);
    case DataType::kInt32: return ScaleCopyInt<int32_t>(prescale, postscale, in, out, count);
    case DataType::kInt64: return ScaleCopyInt<int64_t>(prescale, postscale, in, out, count);
    case DataType::kFloat16:
      return ForEach<uint16_t>(in, out, count, [=](uint16_t v) {
        return FloatToFloat16(Float16ToFloat(v) * pre * post);
      });
    case DataType::kBFloat16:
      return ForEach<uint16_t>(in, out, count, [=](uint16_t v) {
        return FloatToBFloat16(BFloat16ToFloat(v) * pre * post);
      });
    case DataType::kFloat32:
      return ForEach<float>(in, out, count, [=](float v) { return Canonical(v * pre * post); });
    case DataType::kFloat64:
      return ForEach<double>(in, out, count,
                             [=](double v) { return Canonical(v * prescale * postscale); });
    case DataType::kBool:
      return ForEach<uint8_t>(in, out, count, [](uint8_t v) -> uint8_t { return v != 0; });
  }
}

}  // namespace reigen::reduce::scalar

#endif  // REIGEN_RUNTIME_REDUCE_SCALAR_H_
