// Kernels of float16 and bfloat16: float32 while they are added, rounded once on
// the way out (to nearest, ties to even).
#include "runtime/reduce/job.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/reduce/half_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "hwy/highway.h"
#include "runtime/reduce/float_ops-inl.h"
#include "runtime/reduce/half_convert-inl.h"
#include "runtime/reduce/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reigen::reduce {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Convert: ConvertFloat16 or ConvertBFloat16.
template <class Convert>
class HalfType {
 public:
  using Accumulator = float;
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;

  explicit HalfType(const Job& job)
      : received_wide_(job.received_wide),
        outs_wide_(job.outs_wide),
        scales_inputs_(job.prescale != 1.0),
        scales_result_(job.postscale != 1.0),
        divides_(job.divisor != 1),
        prescale_(static_cast<float>(job.prescale)),
        postscale_(static_cast<float>(job.postscale)),
        divisor_(static_cast<float>(job.divisor)) {}

  static constexpr D d() { return D(); }
  static constexpr size_t input_bytes() { return 2; }
  size_t received_bytes() const { return received_wide_ ? 4 : 2; }
  size_t out_bytes() const { return outs_wide_ ? 4 : 2; }

  HWY_INLINE V LoadInput(const std::byte* p) const {
    const V v = LoadHalf(p);
    return HWY_UNLIKELY(scales_inputs_) ? hn::Mul(v, hn::Set(D(), prescale_)) : v;
  }
  HWY_INLINE V LoadReceived(const std::byte* p) const {
    return received_wide_ ? hn::LoadU(D(), reinterpret_cast<const float*>(p)) : LoadHalf(p);
  }
  HWY_INLINE V Finish(V v) const {
    if (divides_) v = hn::Div(v, hn::Set(D(), divisor_));
    if (scales_result_) v = hn::Mul(v, hn::Set(D(), postscale_));
    return CanonicalNan(D(), v);
  }
  HWY_INLINE void Store(V v, std::byte* p) const {
    if (outs_wide_) {
      hn::StoreU(v, D(), reinterpret_cast<float*>(p));
    } else {
      hn::StoreU(Convert::FromFloat(D(), v), hn::Rebind<uint16_t, D>(),
                 reinterpret_cast<uint16_t*>(p));
    }
  }

 private:
  HWY_INLINE V LoadHalf(const std::byte* p) const {
    const auto half = hn::LoadU(hn::Rebind<uint16_t, D>(), reinterpret_cast<const uint16_t*>(p));
    return Convert::ToFloat(D(), half);
  }

  bool received_wide_;
  bool outs_wide_;
  bool scales_inputs_;
  bool scales_result_;
  bool divides_;
  float prescale_;
  float postscale_;
  float divisor_;
};

void HalfJob(const Job& job) {
  if (job.dtype == DataType::kFloat16) return LoopFloat<HalfType<ConvertFloat16>>(job);
  return LoopFloat<HalfType<ConvertBFloat16>>(job);
}

}  // namespace HWY_NAMESPACE
}  // namespace reigen::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reigen::reduce {
HWY_EXPORT(HalfJob);
void RunHalf(const Job& job) { HWY_DYNAMIC_DISPATCH(HalfJob)(job); }
}  // namespace reigen::reduce
#endif
