// Kernels of the integers and bool.
#include "runtime/reduce/job.h"
#include "runtime/reduce/scalar.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/reduce/int_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "hwy/highway.h"
#include "runtime/reduce/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reigen::reduce {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
using Unsigned = hwy::MakeUnsigned<hn::TFromD<D>>;

// Through memory, for what vectors of this type have no operation for.
template <class D, class V, class Step>
HWY_INLINE V ByLane(D d, V v, Step step) {
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = step(lanes[i], i);
  return hn::Load(d, lanes);
}

// Sums and products wrap: they are those of the unsigned type.
struct SumInt {
  template <class D, class V>
  static HWY_INLINE V Apply(D d, V a, V b) {
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(d, hn::Add(hn::BitCast(du, a), hn::BitCast(du, b)));
  }
};

struct ProductInt {
  template <class D, class V>
  static HWY_INLINE V Apply(D d, V a, V b) {
    const hn::RebindToUnsigned<D> du;
    if constexpr (sizeof(Unsigned<D>) > 1) {
      return hn::BitCast(d, hn::Mul(hn::BitCast(du, a), hn::BitCast(du, b)));
    } else {
      HWY_ALIGN hn::TFromD<D> right[hn::MaxLanes(d)];
      hn::Store(b, d, right);
      return ByLane(d, a, [&](auto left, size_t i) {
        return static_cast<hn::TFromD<D>>(static_cast<unsigned>(left) *
                                          static_cast<unsigned>(right[i]));
      });
    }
  }
};

struct MinInt {
  template <class D, class V>
  static HWY_INLINE V Apply(D, V a, V b) {
    return hn::Min(a, b);
  }
};

struct MaxInt {
  template <class D, class V>
  static HWY_INLINE V Apply(D, V a, V b) {
    return hn::Max(a, b);
  }
};

template <typename T>
class IntType {
 public:
  using Accumulator = T;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

  explicit IntType(const Job& job)
      : scales_inputs_(job.prescale != 1.0),
        scales_result_(job.postscale != 1.0),
        prescale_(static_cast<Scale>(job.prescale)),
        postscale_(static_cast<Scale>(job.postscale)),
        divisor_(job.divisor) {}

  static constexpr D d() { return D(); }
  static constexpr size_t input_bytes() { return sizeof(T); }
  static constexpr size_t received_bytes() { return sizeof(T); }
  static constexpr size_t out_bytes() { return sizeof(T); }

  HWY_INLINE V LoadInput(const std::byte* p) const {
    const V v = LoadReceived(p);
    return scales_inputs_ ? Scaled(v, prescale_) : v;
  }
  HWY_INLINE V LoadReceived(const std::byte* p) const {
    return hn::LoadU(D(), reinterpret_cast<const T*>(p));
  }
  HWY_INLINE V Finish(V v) const {
    if (HWY_UNLIKELY(divisor_ != 1)) {
      v = ByLane(D(), v, [&](T x, size_t) { return scalar::DivideInt(x, divisor_); });
    }
    return scales_result_ ? Scaled(v, postscale_) : v;
  }
  HWY_INLINE void Store(V v, std::byte* p) const { hn::StoreU(v, D(), reinterpret_cast<T*>(p)); }

 private:
  using Scale = scalar::ScaleType<T>;

  static HWY_NOINLINE V Scaled(V v, Scale scale) {
    return ByLane(D(), v, [=](T x, size_t) { return scalar::ScaleInt(x, scale); });
  }

  bool scales_inputs_;
  bool scales_result_;
  Scale prescale_;
  Scale postscale_;
  uint64_t divisor_;
};

// Bytes that are 0 or 1; any other value counts as 1. Never scaled or divided.
class BoolType {
 public:
  using Accumulator = uint8_t;
  using D = hn::ScalableTag<uint8_t>;
  using V = hn::Vec<D>;

  explicit BoolType(const Job&) {}

  static constexpr D d() { return D(); }
  static constexpr size_t input_bytes() { return 1; }
  static constexpr size_t received_bytes() { return 1; }
  static constexpr size_t out_bytes() { return 1; }

  HWY_INLINE V LoadInput(const std::byte* p) const {
    return hn::Min(hn::LoadU(D(), reinterpret_cast<const uint8_t*>(p)), hn::Set(D(), 1));
  }
  HWY_INLINE V LoadReceived(const std::byte* p) const { return LoadInput(p); }
  HWY_INLINE V Finish(V v) const { return v; }
  HWY_INLINE void Store(V v, std::byte* p) const {
    hn::StoreU(v, D(), reinterpret_cast<uint8_t*>(p));
  }
};

template <typename T>
void LoopInt(const Job& job) {
  switch (job.combine) {
    case Combine::kSum: return Loop<SumInt, IntType<T>>(job);
    case Combine::kMin: return Loop<MinInt, IntType<T>>(job);
    case Combine::kMax: return Loop<MaxInt, IntType<T>>(job);
    case Combine::kProduct: return Loop<ProductInt, IntType<T>>(job);
  }
}

void LoopBool(const Job& job) {
  const bool any = job.combine == Combine::kSum || job.combine == Combine::kMax;
  return any ? Loop<MaxInt, BoolType>(job) : Loop<MinInt, BoolType>(job);
}

void IntJob(const Job& job) {
  switch (job.dtype) {
    case DataType::kUint8: return LoopInt<uint8_t>(job);
    case DataType::kInt8: return LoopInt<int8_t>(job);
    case DataType::kInt16: return LoopInt<int16_t>(job);
    case DataType::kInt32: return LoopInt<int32_t>(job);
    case DataType::kInt64: return LoopInt<int64_t>(job);
    default: return LoopBool(job);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reigen::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reigen::reduce {
HWY_EXPORT(IntJob);
void RunInt(const Job& job) { HWY_DYNAMIC_DISPATCH(IntJob)(job); }
}  // namespace reigen::reduce
#endif
