// CUDA's errors as this library's.
#ifndef REIGEN_CLIENT_CUDA_ERRORS_H_
#define REIGEN_CLIENT_CUDA_ERRORS_H_

#include "client/c/result.h"
#include "client/cuda/driver_api.h"

namespace reigen::sdk::cuda {

// After one of these, whatever the call, each one of the context fails until the process ends.
bool IsSticky(CuResult code);

// Ok, or "CUDA device 0: cuEventRecord: CUDA_ERROR_... (text)". Sticky: Unavailable.
Result FromCuda(const DriverApi& api, int device, const char* call, CuResult code);

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_ERRORS_H_
