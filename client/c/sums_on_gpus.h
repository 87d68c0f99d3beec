// Calls of the C interface that the tests with CUDA tensors make.
#ifndef REIGEN_CLIENT_C_SUMS_ON_GPUS_H_
#define REIGEN_CLIENT_C_SUMS_ON_GPUS_H_

#include <cstdint>
#include <vector>

#include "client/c/reigen.h"
#include "client/cuda/driver_api.h"

namespace reigen::sdk {

// `count` floats, of which the sum replaces them. `count` outlives the call that takes it.
inline reigen_tensor FloatsOnGpu(cuda::CuAddress memory, const int64_t* count, const char* name,
                                 cuda::CuStream stream) {
  reigen_tensor tensor = {};
  tensor.struct_size = sizeof(tensor);
  tensor.name = name;
  tensor.input = reinterpret_cast<const void*>(memory);
  tensor.output = reinterpret_cast<void*>(memory);
  tensor.dtype = REIGEN_FLOAT32;
  tensor.ndim = 1;
  tensor.shape = count;
  tensor.device_kind = REIGEN_CUDA;
  tensor.stream = reinterpret_cast<uintptr_t>(stream);
  return tensor;
}

// Several are the group "g".
inline reigen_status StartSum(const std::vector<reigen_tensor>& tensors, reigen_handle* handle) {
  const reigen_allreduce_options options = {.struct_size = sizeof(reigen_allreduce_options),
                                            .op = REIGEN_SUM, .process_set = 0,
                                            .prescale = 1.0, .postscale = 1.0};
  return reigen_allreduce_async(tensors.size() > 1 ? "g" : nullptr, tensors.data(),
                                tensors.size(), &options, handle);
}

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_SUMS_ON_GPUS_H_
