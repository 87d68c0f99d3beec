// The GPU's kernels (kernels.cu), compiled, as they were put into this library where
// the build found nvcc.
#ifndef REIGEN_CLIENT_CUDA_KERNEL_IMAGE_H_
#define REIGEN_CLIENT_CUDA_KERNEL_IMAGE_H_

#include <cstddef>
#include <span>

namespace reigen::sdk::cuda {

// A fat binary for cuModuleLoadData; empty: built without nvcc.
std::span<const std::byte> KernelImage();

// "sm_80, sm_90 and PTX, by nvcc 13.0"; null: built without nvcc.
const char* KernelImageText();

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_KERNEL_IMAGE_H_
