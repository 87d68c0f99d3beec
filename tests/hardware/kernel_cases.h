// Each kernel on the GPU, against the float64 reference and bit for bit against its own
// code run on the host. Prints a row for each.
#ifndef REIGEN_TESTS_HARDWARE_KERNEL_CASES_H_
#define REIGEN_TESTS_HARDWARE_KERNEL_CASES_H_

#include <cstddef>
#include <span>
#include <string>

#include "client/cuda/kernels.h"
#include "tests/hardware/gpu.h"

namespace reigen::hardware {

// `count`: elements of each. False: something was wrong.
bool CheckReductions(const Gpu& gpu, const sdk::cuda::Kernels& kernels, size_t count);
bool CheckPacking(const Gpu& gpu, const sdk::cuda::Kernels& kernels);
// GB/s beside a copy in the device's memory; `bytes` of memory for each.
bool MeasureKernels(const Gpu& gpu, const sdk::cuda::Kernels& kernels, size_t bytes);

// All that client/cuda/device.h does with GPU memory. `image_path`: of the same image, for
// another process of this program; empty: the one built in.
bool CheckDevice(const Gpu& gpu, std::span<const std::byte> image, const std::string& image_path,
                 bool quick);
// That other process: doubles two floats in the memory of this handle.
int RunIpcPeer(const Gpu& gpu, std::span<const std::byte> image, const std::string& hex);

}  // namespace reigen::hardware

#endif  // REIGEN_TESTS_HARDWARE_KERNEL_CASES_H_
