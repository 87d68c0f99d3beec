// Each kernel on the GPU, against the float64 reference and bit for bit against its own
// code run on the host. Prints a row for each.
#ifndef REIGEN_TESTS_HARDWARE_KERNEL_CASES_H_
#define REIGEN_TESTS_HARDWARE_KERNEL_CASES_H_

#include <cstddef>

#include "client/cuda/kernels.h"
#include "tests/hardware/gpu.h"

namespace reigen::hardware {

// `count`: elements of each. False: something was wrong.
bool CheckReductions(const Gpu& gpu, const sdk::cuda::Kernels& kernels, size_t count);
bool CheckPacking(const Gpu& gpu, const sdk::cuda::Kernels& kernels);
// GB/s beside a copy in the device's memory; `bytes` of memory for each.
bool MeasureKernels(const Gpu& gpu, const sdk::cuda::Kernels& kernels, size_t bytes);

}  // namespace reigen::hardware

#endif  // REIGEN_TESTS_HARDWARE_KERNEL_CASES_H_
