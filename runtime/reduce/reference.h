// What an all-reduce must give, computed without the kernels, for the tests of
// every part. Slow.
//
// Integers and bool are exact, float min and max too (but a scaled one whose
// partials are rounded to a half type); other floats are long double sums with
// the bounds of R3. What the order of operands may turn into an infinity or a
// NaN by overflow on the way is accepted as either.
#ifndef REIGEN_RUNTIME_REDUCE_REFERENCE_H_
#define REIGEN_RUNTIME_REDUCE_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"

namespace reigen::reduce {

struct AllreduceCase {
  DataType dtype = DataType::kFloat32;
  DataType wire = DataType::kFloat32;  // of partial sums between hosts
  ReduceOp op = ReduceOp::kSum;
  double prescale = 1.0;
  double postscale = 1.0;
  uint64_t divisor = 1;
  int hosts = 1;
  // Elements of dtype of each contributing rank, in rank order; equal lengths.
  std::vector<std::vector<std::byte>> inputs;
};

// One element of the result: value +- tolerance (equal, with the sign of zero,
// if that is 0 and `exact_zero`).
struct Expected {
  long double value = 0;  // may be infinite or NaN
  long double tolerance = 0;
  bool exact_zero = false;
  bool or_infinite = false;  // or an infinity of value's sign
  bool anything = false;
};
Expected ExpectedElement(const AllreduceCase& c, size_t i);

// True if every element of `result` (of dtype) is as expected. Else `message` says
// what the first bad one is and should be, and from which inputs.
bool WithinR3(const AllreduceCase& c, std::span<const std::byte> result, std::string* message);

// An element of any type as a number, and a number rounded to a type (nearest,
// ties to even; integers toward zero, saturating).
long double Decode(DataType dtype, std::span<const std::byte> elements, size_t i);
long double RoundTo(DataType dtype, long double value);
// An element from a number that the type can hold after RoundTo.
void Encode(DataType dtype, long double value, std::span<std::byte> elements, size_t i);

// Test data, the same for the same seed.
enum class Data {
  kPlain,    // small numbers of both signs, some equal; sums of many stay finite
  kAnyBits,  // every bit pattern, so also NaN, infinities, subnormals
  kCorners,  // only zeros, ones, infinities, NaN, least and greatest
};
std::vector<std::byte> MakeData(DataType dtype, Data data, size_t count, uint64_t seed);

}  // namespace reigen::reduce

#endif  // REIGEN_RUNTIME_REDUCE_REFERENCE_H_
