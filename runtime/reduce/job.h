// One call of a kernel, as the loops for each element type take it.
#ifndef REIGEN_RUNTIME_REDUCE_JOB_H_
#define REIGEN_RUNTIME_REDUCE_JOB_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/dtype.h"

namespace reigen::reduce {

enum class Combine : uint8_t { kSum, kMin, kMax, kProduct };

//   outs[..] = finish(received (+) (inputs[0] * prescale (+) inputs[1] * ...))
struct Job {
  DataType dtype = DataType::kFloat32;  // of inputs
  Combine combine = Combine::kSum;
  std::span<const std::byte* const> inputs;  // empty only with `received`
  const std::byte* received = nullptr;       // or null
  std::span<std::byte* const> outs;
  size_t count = 0;
  // Halves only: `received`, `outs` are float32 instead of dtype.
  bool received_wide = false;
  bool outs_wide = false;
  double prescale = 1.0;
  double postscale = 1.0;
  uint64_t divisor = 1;
};

// By Highway, for the best target of this machine.
void RunFloat(const Job& job);  // float32, float64
void RunHalf(const Job& job);   // float16, bfloat16
void RunInt(const Job& job);    // integers and bool

}  // namespace reigen::reduce

#endif  // REIGEN_RUNTIME_REDUCE_JOB_H_
