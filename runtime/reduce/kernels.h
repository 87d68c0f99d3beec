// Element-wise kernels of the collectives, on the CPU.
//
// Types:    a trainer's elements have `dtype`; partial sums travel as `wire`,
//           which is dtype, or float32 for float16 and bfloat16 (R3).
// Order:    acc = in[0]*pre (+) in[1]*pre (+) ... in rank order; with a received
//           partial r from earlier hosts: acc = r (+) acc. Halves accumulate in
//           float32 and are rounded once on output.
// Final:    acc / divisor (Average), then * postscale, then rounded to dtype.
//           Integers divide and convert toward zero, each operand of a prescale by
//           itself; out of range saturates, a NaN (from a scale) gives 0.
//           Scales are applied in float32; in float64 for float64, int32, int64.
// NaN:      any NaN operand gives the canonical quiet NaN, in partials too.
// -0.0:     min(-0,+0) = -0, max(-0,+0) = +0.
// bool:     Sum and Max are OR, Product and Min are AND; Average and scales
//           other than 1 are refused earlier (SupportedReduction). Any byte but
//           0 counts as 1.
// Overflow: integer Sum and Product wrap.
// Alias:    an output may be one of the inputs (same start), never overlap it
//           otherwise.
// Bits:     the same on every processor and however a block is cut. Pointers need
//           the alignment of their elements only.
#ifndef REIGEN_RUNTIME_REDUCE_KERNELS_H_
#define REIGEN_RUNTIME_REDUCE_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/dtype.h"

namespace reigen::reduce {

struct ReduceSpec {
  DataType dtype = DataType::kFloat32;
  DataType wire = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  double prescale = 1.0;
  double postscale = 1.0;
  uint64_t divisor = 1;  // Average: the size of the process set; else 1
};

// The inputs of one host's ranks (elements of dtype, in rank order, >= 1 of
// them), after `received` (elements of wire, or null): a partial, as `wire`.
void ReducePartial(const ReduceSpec& spec, std::span<const std::byte* const> inputs,
                   const std::byte* received, std::byte* out, size_t count);

// The same, finished, as `dtype`, written to each of `outs`.
void ReduceFinal(const ReduceSpec& spec, std::span<const std::byte* const> inputs,
                 const std::byte* received, std::span<std::byte* const> outs, size_t count);

// out = left (+) right, all of `wire`. No scale. out may be left or right.
void CombineWire(const ReduceSpec& spec, const std::byte* left, const std::byte* right,
                 std::byte* out, size_t count);

// Finishes a whole partial: wire -> dtype, to each of `outs`.
void FinishWire(const ReduceSpec& spec, const std::byte* partial,
                std::span<std::byte* const> outs, size_t count);

}  // namespace reigen::reduce

#endif  // REIGEN_RUNTIME_REDUCE_KERNELS_H_
