// Which reductions exist. Free of dependencies: the SDK refuses at enqueue, the
// coordinator again, before anything moves.
#ifndef REIGEN_RUNTIME_REDUCE_SUPPORTED_H_
#define REIGEN_RUNTIME_REDUCE_SUPPORTED_H_

#include <string>

#include "runtime/base/dtype.h"

namespace reigen::reduce {

// All but Average and scales other than 1 on bool.
constexpr bool SupportedReduction(DataType dtype, ReduceOp op, double prescale, double postscale) {
  if (!IsValidDataType(static_cast<uint8_t>(dtype))) return false;
  if (!IsValidReduceOp(static_cast<uint8_t>(op))) return false;
  if (dtype != DataType::kBool) return true;
  return op != ReduceOp::kAverage && prescale == 1.0 && postscale == 1.0;
}

// For a reduction that is not supported: why, naming dtype and op.
inline std::string RefusalText(DataType dtype, ReduceOp op) {
  const std::string what = std::string(Name(op)) + " of " + std::string(Name(dtype));
  if (dtype != DataType::kBool || !IsValidReduceOp(static_cast<uint8_t>(op))) {
    return what + " is not supported";
  }
  if (op == ReduceOp::kAverage) return what + " is not supported: bool has no average";
  return what + " with a scale is not supported: bool takes no prescale or postscale";
}

}  // namespace reigen::reduce

#endif  // REIGEN_RUNTIME_REDUCE_SUPPORTED_H_
