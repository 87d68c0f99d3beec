#include "runtime/reduce/kernels.h"

#include "runtime/base/check.h"
#include "runtime/reduce/job.h"
#include "runtime/reduce/supported.h"

namespace reigen::reduce {
namespace {

Combine CombineOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kAverage:
    case ReduceOp::kSum: return Combine::kSum;
    case ReduceOp::kMin: return Combine::kMin;
    case ReduceOp::kMax: return Combine::kMax;
    case ReduceOp::kProduct: return Combine::kProduct;
  }
  REIGEN_CHECK(false, "no such operator");
}

Job JobOf(const ReduceSpec& spec) {
  REIGEN_CHECK(SupportedReduction(spec.dtype, spec.op, spec.prescale, spec.postscale));
  REIGEN_CHECK(spec.wire == spec.dtype ||
               (IsHalf(spec.dtype) && spec.wire == DataType::kFloat32));
  REIGEN_CHECK(spec.divisor > 0);
  Job job;
  job.dtype = spec.dtype;
  job.combine = CombineOf(spec.op);
  return job;
}

void Run(const Job& job) {
  if (job.count == 0 || job.outs.empty()) return;
  REIGEN_CHECK(!job.inputs.empty() || job.received != nullptr);
  if (IsHalf(job.dtype)) return RunHalf(job);
  if (IsFloat(job.dtype)) return RunFloat(job);
  return RunInt(job);
}

}  // namespace

void ReducePartial(const ReduceSpec& spec, std::span<const std::byte* const> inputs,
                   const std::byte* received, std::byte* out, size_t count) {
  Job job = JobOf(spec);
  job.inputs = inputs;
  job.received = received;
  job.outs = {&out, 1};
  job.count = count;
  job.received_wide = job.outs_wide = spec.wire != spec.dtype;
  job.prescale = spec.prescale;
  Run(job);
}

void ReduceFinal(const ReduceSpec& spec, std::span<const std::byte* const> inputs,
                 const std::byte* received, std::span<std::byte* const> outs, size_t count) {
  Job job = JobOf(spec);
  job.inputs = inputs;
  job.received = received;
  job.outs = outs;
  job.count = count;
  job.received_wide = spec.wire != spec.dtype;
  job.prescale = spec.prescale;
  job.postscale = spec.postscale;
  job.divisor = spec.divisor;
  Run(job);
}

void CombineWire(const ReduceSpec& spec, const std::byte* left, const std::byte* right,
                 std::byte* out, size_t count) {
  Job job = JobOf(spec);
  job.dtype = spec.wire;
  job.inputs = {&right, 1};
  job.received = left;
  job.outs = {&out, 1};
  job.count = count;
  Run(job);
}

void FinishWire(const ReduceSpec& spec, const std::byte* partial,
                std::span<std::byte* const> outs, size_t count) {
  ReduceFinal(spec, {}, partial, outs, count);
}

}  // namespace reigen::reduce
