#include "client/cuda/kernel_image.h"

#ifdef REIGEN_CUDA_KERNELS

extern "C" {
extern const std::byte reigen_cuda_image_begin[];
extern const std::byte reigen_cuda_image_end[];
}

namespace reigen::sdk::cuda {

std::span<const std::byte> KernelImage() {
  return {reigen_cuda_image_begin, reigen_cuda_image_end};
}

const char* KernelImageText() { return REIGEN_CUDA_KERNELS; }

}  // namespace reigen::sdk::cuda

#else

namespace reigen::sdk::cuda {

std::span<const std::byte> KernelImage() { return {}; }

const char* KernelImageText() { return nullptr; }

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CUDA_KERNELS
