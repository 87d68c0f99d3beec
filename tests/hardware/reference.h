// What a reduction must give, written down once more: integers in 64 bits, the rest in
// float64, with the error that the types allow. Nothing of this is the kernels' own code.
#ifndef REIGEN_TESTS_HARDWARE_REFERENCE_H_
#define REIGEN_TESTS_HARDWARE_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"
#include "tests/hardware/gpu.h"

namespace reigen::hardware {

struct Case {
  DataType dtype = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  std::vector<Bytes> inputs;
  Bytes received;  // of the dtype, or float32; empty: none. The left operand
  double prescale = 1.0;
  double postscale = 1.0;
  uint64_t divisor = 1;
  int hosts = 1;  // partial sums of halves are rounded between them
  bool received_wide = false;  // halves: float32 in place of the dtype
  bool out_wide = false;
};

// Random elements of moderate size.
Bytes RandomElements(DataType dtype, size_t count, uint64_t seed);

// "" or what the first wrong element is.
std::string Compare(const Case& reduction, const Bytes& got, size_t count);

}  // namespace reigen::hardware

#endif  // REIGEN_TESTS_HARDWARE_REFERENCE_H_
