// The GPU's kernels: one launch for a batch of tensors, a row of blocks for each.
#include "client/cuda/reduce_kernel.h"

namespace reigen::sdk::cuda {

template <typename Type>
__device__ void ReduceRow(const ReduceBatch& batch) {
  const ReduceItem& item = batch.items[blockIdx.y];
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < item.count; i += step) {
    ReduceElement<Type>(batch, item, i);
  }
}

}  // namespace reigen::sdk::cuda

#define REIGEN_REDUCE_KERNEL(name, Type)                                            \
  extern "C" __global__ void reigen_reduce_##name(                                  \
      const __grid_constant__ reigen::sdk::cuda::ReduceBatch batch) {               \
    reigen::sdk::cuda::ReduceRow<reigen::sdk::cuda::Type>(batch);                   \
  }

REIGEN_REDUCE_KERNEL(uint8, Plain<uint8_t>)
REIGEN_REDUCE_KERNEL(int8, Plain<int8_t>)
REIGEN_REDUCE_KERNEL(int16, Plain<int16_t>)
REIGEN_REDUCE_KERNEL(int32, Plain<int32_t>)
REIGEN_REDUCE_KERNEL(int64, Plain<int64_t>)
REIGEN_REDUCE_KERNEL(float16, Float16)
REIGEN_REDUCE_KERNEL(bfloat16, BFloat16)
REIGEN_REDUCE_KERNEL(float32, Plain<float>)
REIGEN_REDUCE_KERNEL(float64, Plain<double>)
REIGEN_REDUCE_KERNEL(bool, Bool)
