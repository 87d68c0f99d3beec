// How accumulators of float32 and float64 are combined. Included once per target.
#if defined(REIGEN_RUNTIME_REDUCE_FLOAT_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef REIGEN_RUNTIME_REDUCE_FLOAT_OPS_INL_H_
#undef REIGEN_RUNTIME_REDUCE_FLOAT_OPS_INL_H_
#else
#define REIGEN_RUNTIME_REDUCE_FLOAT_OPS_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/reduce/job.h"
#include "runtime/reduce/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reigen::reduce {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct SumFloat {
  template <class D, class V>
  static HWY_INLINE V Apply(D, V a, V b) {
    return hn::Add(a, b);
  }
};

struct ProductFloat {
  template <class D, class V>
  static HWY_INLINE V Apply(D, V a, V b) {
    return hn::Mul(a, b);
  }
};

// What the processors' own min and max do with NaN and zeros differs, and is not
// symmetric. Equal operands are the same bits or zeros of two signs: their OR is
// the smaller zero, their AND the larger.
struct MinFloat {
  template <class D, class V>
  static HWY_INLINE V Apply(D, V a, V b) {
    const V other = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), b);  // b if b is NaN
    return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, other);
  }
};

struct MaxFloat {
  template <class D, class V>
  static HWY_INLINE V Apply(D, V a, V b) {
    const V other = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), b);
    return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, other);
  }
};

// Any NaN to the one that has no sign and no payload.
template <class D, class V>
HWY_INLINE V CanonicalNan(D d, V v) {
  using Bits = hwy::MakeUnsigned<hn::TFromD<D>>;
  const hn::RebindToUnsigned<D> du;
  constexpr Bits kNan = sizeof(Bits) == 4 ? Bits{0x7fc00000} : static_cast<Bits>(0x7ff8000000000000);
  return hn::IfThenElse(hn::IsNaN(v), hn::BitCast(d, hn::Set(du, kNan)), v);
}

// Runs Loop<Op, Type> for the operator of the job.
template <class Type>
void LoopFloat(const Job& job) {
  switch (job.combine) {
    case Combine::kSum: return Loop<SumFloat, Type>(job);
    case Combine::kMin: return Loop<MinFloat, Type>(job);
    case Combine::kMax: return Loop<MaxFloat, Type>(job);
    case Combine::kProduct: return Loop<ProductFloat, Type>(job);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reigen::reduce
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
