// Kernels of float32 and float64.
#include "runtime/reduce/job.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/reduce/float_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "hwy/highway.h"
#include "runtime/reduce/float_ops-inl.h"
#include "runtime/reduce/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reigen::reduce {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
class FloatType {
 public:
  using Accumulator = T;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

  explicit FloatType(const Job& job)
      : scales_inputs_(job.prescale != 1.0),
        scales_result_(job.postscale != 1.0),
        divides_(job.divisor != 1),
        prescale_(static_cast<T>(job.prescale)),
        postscale_(static_cast<T>(job.postscale)),
        divisor_(static_cast<T>(job.divisor)) {}

  static constexpr D d() { return D(); }
  static constexpr size_t input_bytes() { return sizeof(T); }
  static constexpr size_t received_bytes() { return sizeof(T); }
  static constexpr size_t out_bytes() { return sizeof(T); }

  HWY_INLINE V LoadInput(const std::byte* p) const {
    const V v = LoadReceived(p);
    return HWY_UNLIKELY(scales_inputs_) ? hn::Mul(v, hn::Set(D(), prescale_)) : v;
  }
  HWY_INLINE V LoadReceived(const std::byte* p) const {
    return hn::LoadU(D(), reinterpret_cast<const T*>(p));
  }
  HWY_INLINE V Finish(V v) const {
    if (divides_) v = hn::Div(v, hn::Set(D(), divisor_));
    if (scales_result_) v = hn::Mul(v, hn::Set(D(), postscale_));
    return CanonicalNan(D(), v);
  }
  HWY_INLINE void Store(V v, std::byte* p) const { hn::StoreU(v, D(), reinterpret_cast<T*>(p)); }

 private:
  bool scales_inputs_;
  bool scales_result_;
  bool divides_;
  T prescale_;
  T postscale_;
  T divisor_;
};

void FloatJob(const Job& job) {
  if (job.dtype == DataType::kFloat32) return LoopFloat<FloatType<float>>(job);
  return LoopFloat<FloatType<double>>(job);
}

}  // namespace HWY_NAMESPACE
}  // namespace reigen::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reigen::reduce {
HWY_EXPORT(FloatJob);
void RunFloat(const Job& job) { HWY_DYNAMIC_DISPATCH(FloatJob)(job); }
}  // namespace reigen::reduce
#endif
