// Neutral elements: what a host without contributors puts in (R8).
#ifndef REIGEN_RUNTIME_COLLECTIVE_IDENTITY_H_
#define REIGEN_RUNTIME_COLLECTIVE_IDENTITY_H_

#include <cstddef>

#include "runtime/base/dtype.h"

namespace reigen::collective {

// `count` elements that change no other when reduced with it: -0.0 for sums of
// floats (+0.0 would turn -0.0 into +0.0), 0, 1, the largest or smallest value or
// infinity; for bool false where the operator is OR, true where it is AND.
void FillIdentity(DataType type, ReduceOp op, std::byte* out, size_t count);

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_IDENTITY_H_
