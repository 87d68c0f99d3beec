// The loop over a block, for one target of Highway. Included once per target.
//
// A `Type` policy says how elements become vectors of accumulators and back:
//
//   using Accumulator; using D;  D d() const;
//   size_t input_bytes(), received_bytes(), out_bytes()       of one element
//   V LoadInput(const std::byte*), LoadReceived(const std::byte*)
//   V Finish(V)                    divides and scales, if the job asks for it
//   void Store(V, std::byte*)
//
// and an `Op` policy how two accumulators are combined: static V Apply(d, a, b).
// An element's result depends on its operands only, not on its place.
#if defined(REIGEN_RUNTIME_REDUCE_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef REIGEN_RUNTIME_REDUCE_LOOP_INL_H_
#undef REIGEN_RUNTIME_REDUCE_LOOP_INL_H_
#else
#define REIGEN_RUNTIME_REDUCE_LOOP_INL_H_
#endif

#include <cstddef>
#include <cstring>

#include "hwy/highway.h"
#include "runtime/reduce/job.h"

HWY_BEFORE_NAMESPACE();
namespace reigen::reduce {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Four vectors of accumulators at element `i`: inputs are read once each, side by
// side, and outputs written while the accumulators are in registers. By ordinary
// stores: streaming ones save a sixth where a large output is not an input, and
// cost a third where the block stays in the cache, as a pipeline's segments do.
template <class Op, class Type>
HWY_INLINE void FourVectors(const Type& type, const Job& job, size_t i) {
  const auto d = type.d();
  const size_t lanes = hn::Lanes(d);
  const size_t in_step = lanes * type.input_bytes();
  const size_t received_step = lanes * type.received_bytes();
  const size_t out_step = lanes * type.out_bytes();
  auto a0 = hn::Zero(d);
  auto a1 = a0;
  auto a2 = a0;
  auto a3 = a0;
  const size_t inputs = job.inputs.size();
  if (HWY_LIKELY(inputs > 0)) {
    const std::byte* p = job.inputs[0] + i * type.input_bytes();
    a0 = type.LoadInput(p);
    a1 = type.LoadInput(p + in_step);
    a2 = type.LoadInput(p + 2 * in_step);
    a3 = type.LoadInput(p + 3 * in_step);
  }
  for (size_t k = 1; k < inputs; ++k) {
    const std::byte* p = job.inputs[k] + i * type.input_bytes();
    a0 = Op::Apply(d, a0, type.LoadInput(p));
    a1 = Op::Apply(d, a1, type.LoadInput(p + in_step));
    a2 = Op::Apply(d, a2, type.LoadInput(p + 2 * in_step));
    a3 = Op::Apply(d, a3, type.LoadInput(p + 3 * in_step));
  }
  if (job.received != nullptr) {
    const std::byte* p = job.received + i * type.received_bytes();
    const auto r0 = type.LoadReceived(p);
    const auto r1 = type.LoadReceived(p + received_step);
    const auto r2 = type.LoadReceived(p + 2 * received_step);
    const auto r3 = type.LoadReceived(p + 3 * received_step);
    a0 = inputs > 0 ? Op::Apply(d, r0, a0) : r0;
    a1 = inputs > 0 ? Op::Apply(d, r1, a1) : r1;
    a2 = inputs > 0 ? Op::Apply(d, r2, a2) : r2;
    a3 = inputs > 0 ? Op::Apply(d, r3, a3) : r3;
  }
  a0 = type.Finish(a0);
  a1 = type.Finish(a1);
  a2 = type.Finish(a2);
  a3 = type.Finish(a3);
  for (std::byte* out : job.outs) {
    std::byte* p = out + i * type.out_bytes();
    type.Store(a0, p);
    type.Store(a1, p + out_step);
    type.Store(a2, p + 2 * out_step);
    type.Store(a3, p + 3 * out_step);
  }
}

// The last `n` <= Lanes elements, through buffers of a whole vector.
template <class Op, class Type>
HWY_NOINLINE void LastElements(const Type& type, const Job& job, size_t i, size_t n) {
  const auto d = type.d();
  constexpr size_t kBytes = hn::MaxLanes(typename Type::D()) * sizeof(typename Type::Accumulator);
  HWY_ALIGN std::byte buffer[kBytes] = {};
  const auto padded = [&](const std::byte* from, size_t element_bytes) {
    std::memcpy(buffer, from + i * element_bytes, n * element_bytes);
    return static_cast<const std::byte*>(buffer);
  };
  auto acc = hn::Zero(d);
  for (size_t k = 0; k < job.inputs.size(); ++k) {
    const auto v = type.LoadInput(padded(job.inputs[k], type.input_bytes()));
    acc = k == 0 ? v : Op::Apply(d, acc, v);
  }
  if (job.received != nullptr) {
    const auto r = type.LoadReceived(padded(job.received, type.received_bytes()));
    acc = job.inputs.empty() ? r : Op::Apply(d, r, acc);
  }
  type.Store(type.Finish(acc), buffer);
  for (std::byte* out : job.outs) {
    std::memcpy(out + i * type.out_bytes(), buffer, n * type.out_bytes());
  }
}

template <class Op, class Type>
HWY_NOINLINE void Loop(const Job& job) {
  const Type type(job);
  const size_t lanes = hn::Lanes(type.d());
  size_t i = 0;
  for (; i + 4 * lanes <= job.count; i += 4 * lanes) FourVectors<Op>(type, job, i);
  for (; i < job.count; i += lanes) {
    LastElements<Op>(type, job, i, HWY_MIN(lanes, job.count - i));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reigen::reduce
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
