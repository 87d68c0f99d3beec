// The driver of this machine, if it has one.
#ifndef REIGEN_CLIENT_CUDA_LOAD_DRIVER_H_
#define REIGEN_CLIENT_CUDA_LOAD_DRIVER_H_

#include "client/c/result.h"
#include "client/cuda/driver_api.h"

namespace reigen::sdk::cuda {

inline constexpr char kDriverLibrary[] = "libcuda.so.1";

// Opens the library and fills the table; does not start CUDA. FailedPrecondition,
// with the reason, where there is no driver or one that lacks a function. The
// library stays open: streams and events of the caller live in it too.
Result LoadDriver(const char* library, DriverApi* api);

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_LOAD_DRIVER_H_
