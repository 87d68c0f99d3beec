// The kernels by name, each with its argument: for kernels.cu, which compiles them, and
// for those who look them up. `reigen_` and these names are the image's symbols.
#ifndef REIGEN_CLIENT_CUDA_KERNEL_LIST_H_
#define REIGEN_CLIENT_CUDA_KERNEL_LIST_H_

#include "client/cuda/pack_kernel.h"
#include "client/cuda/reduce_kernel.h"

// X(name of the data type, how its elements are stored and added up), in the order of
// DataType's numbers.
#define REIGEN_REDUCE_KERNELS(X) \
  X(uint8, Plain<uint8_t>)       \
  X(int8, Plain<int8_t>)         \
  X(int16, Plain<int16_t>)       \
  X(int32, Plain<int32_t>)       \
  X(int64, Plain<int64_t>)       \
  X(float16, Float16)            \
  X(bfloat16, BFloat16)          \
  X(float32, Plain<float>)       \
  X(float64, Plain<double>)      \
  X(bool, Bool)

// X(name, argument)
#define REIGEN_PACK_KERNELS(X) \
  X(pack, PackBatch)           \
  X(pack_strided, StridedBatch)

#endif  // REIGEN_CLIENT_CUDA_KERNEL_LIST_H_
