// The GPU's kernels; what they do is in the headers, under the names of kernel_list.h.
#include "client/cuda/kernel_list.h"

namespace reigen::sdk::cuda {

template <typename Type>
__device__ void Reduce(const ReduceBatch& batch) {
  ReduceThread<Type>(batch, batch.items[blockIdx.y],
                     uint64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                     uint64_t{gridDim.x} * blockDim.x);
}

}  // namespace reigen::sdk::cuda

#define REIGEN_REDUCE_KERNEL(name, Type)                              \
  extern "C" __global__ void reigen_reduce_##name(                    \
      const __grid_constant__ reigen::sdk::cuda::ReduceBatch batch) { \
    reigen::sdk::cuda::Reduce<reigen::sdk::cuda::Type>(batch);        \
  }
REIGEN_REDUCE_KERNELS(REIGEN_REDUCE_KERNEL)

#define REIGEN_PACK_KERNEL(name, Batch)                             \
  extern "C" __global__ void __launch_bounds__(256) reigen_##name(  \
      const __grid_constant__ reigen::sdk::cuda::Batch batch) {     \
    reigen::sdk::cuda::PackThread(batch, blockIdx.x, threadIdx.x);  \
  }
REIGEN_PACK_KERNELS(REIGEN_PACK_KERNEL)
