// Vectors of half types, as uint16_t, to and from float32. FromFloat takes no NaN
// but the canonical one. Included once per target.
#if defined(REIGEN_RUNTIME_REDUCE_HALF_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef REIGEN_RUNTIME_REDUCE_HALF_CONVERT_INL_H_
#undef REIGEN_RUNTIME_REDUCE_HALF_CONVERT_INL_H_
#else
#define REIGEN_RUNTIME_REDUCE_HALF_CONVERT_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

// Inlined, but not under sanitizers: their checks in a hundred copies of a conversion
// take clang a quarter of an hour to compile.
#ifndef REIGEN_HALF_INLINE
#ifdef __has_feature
#define REIGEN_HALF_SANITIZED                                                \
  (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||   \
   __has_feature(undefined_behavior_sanitizer))
#else
#define REIGEN_HALF_SANITIZED 0
#endif
#if REIGEN_HALF_SANITIZED
#define REIGEN_HALF_INLINE HWY_NOINLINE
#else
#define REIGEN_HALF_INLINE HWY_INLINE
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace reigen::reduce {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Values below 2^16 that are in the low halves of u32 lanes.
template <class DF, class VU32>
HWY_INLINE auto NarrowToU16(DF, VU32 v) {
  return hn::DemoteTo(hn::Rebind<uint16_t, DF>(), hn::BitCast(hn::RebindToSigned<DF>(), v));
}

struct ConvertBFloat16 {
  template <class DF, class VU16>
  static REIGEN_HALF_INLINE hn::Vec<DF> ToFloat(DF df, VU16 half) {
    return hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<DF>(), half)));
  }

  template <class DF>
  static REIGEN_HALF_INLINE auto FromFloat(DF df, hn::Vec<DF> v) {
    const hn::RebindToUnsigned<DF> du;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7fff)), odd);
    return NarrowToU16(df, hn::ShiftRight<16>(rounded));
  }
};

struct ConvertFloat16 {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
  // F16C.
  template <class DF, class VU16>
  static REIGEN_HALF_INLINE hn::Vec<DF> ToFloat(DF df, VU16 half) {
    return hn::PromoteTo(df, hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), half));
  }

  template <class DF>
  static REIGEN_HALF_INLINE auto FromFloat(DF, hn::Vec<DF> v) {
    return hn::BitCast(hn::Rebind<uint16_t, DF>(),
                       hn::DemoteTo(hn::Rebind<hwy::float16_t, DF>(), v));
  }
#else
  // Highway's own know no infinities.
  template <class DF, class VU16>
  static REIGEN_HALF_INLINE hn::Vec<DF> ToFloat(DF df, VU16 half) {
    const hn::RebindToUnsigned<DF> du;
    const auto wide = hn::PromoteTo(du, half);
    const auto sign = hn::ShiftLeft<16>(hn::And(wide, hn::Set(du, 0x8000)));
    const auto magnitude = hn::ShiftLeft<13>(hn::And(wide, hn::Set(du, 0x7fff)));
    const auto exponent = hn::And(magnitude, hn::Set(du, 0x0f800000));
    const auto normal = hn::Add(magnitude, hn::Set(du, 0x38000000));
    const auto special = hn::Add(magnitude, hn::Set(du, 0x70000000));
    // 2^-14 + x, less 2^-14: the subtraction puts the leading bit in its place.
    const auto least = hn::Set(du, 0x38800000);
    const auto subnormal = hn::BitCast(
        du, hn::Sub(hn::BitCast(df, hn::Add(magnitude, least)), hn::BitCast(df, least)));
    auto bits = hn::IfThenElse(hn::Eq(exponent, hn::Zero(du)), subnormal, normal);
    bits = hn::IfThenElse(hn::Eq(exponent, hn::Set(du, 0x0f800000)), special, bits);
    return hn::BitCast(df, hn::Or(bits, sign));
  }

  template <class DF>
  static REIGEN_HALF_INLINE auto FromFloat(DF df, hn::Vec<DF> v) {
    const hn::RebindToUnsigned<DF> du;
    const auto bits = hn::BitCast(du, v);
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000));
    const auto magnitude = hn::And(bits, hn::Set(du, 0x7fffffff));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1));
    const auto rounded = hn::Add(hn::Add(magnitude, hn::Set(du, 0xfff)), odd);
    const auto normal = hn::ShiftRight<13>(hn::Sub(rounded, hn::Set(du, 0x38000000)));
    // A unit in the last place of 0.5 is 2^-24, as that of a subnormal is.
    const auto half = hn::Set(df, 0.5f);
    const auto subnormal = hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(df, magnitude), half)),
                                   hn::BitCast(du, half));
    auto result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x38800000)), subnormal, normal);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x477fffff)), hn::Set(du, 0x7c00), result);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7f800000)), hn::Set(du, 0x7e00), result);
    return NarrowToU16(df, hn::Or(result, sign));
  }
#endif
};

}  // namespace HWY_NAMESPACE
}  // namespace reigen::reduce
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
