// What the launcher tells a trainer by its environment.
#ifndef REIGEN_CLIENT_C_ENVIRONMENT_H_
#define REIGEN_CLIENT_C_ENVIRONMENT_H_

#include <cstdint>
#include <optional>

#include "client/c/result.h"
#include "client/c/session.h"

namespace reigen::sdk {

// Reads it anew. An empty socket_path: not under a launcher. InvalidArgument
// names the variable that is wrong.
Result ReadEnvironment(SessionOptions* out);

// REIGEN_CUDA_KERNELS: "off": CUDA tensors are copied one by one; "on" or empty: as if not set.
Result ReadCudaKernelsOff(bool* out);
// REIGEN_CUDA_ARENA_MB, in bytes; nullopt: not set, or empty.
Result ReadCudaArenaLimit(std::optional<uint64_t>* out);

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_ENVIRONMENT_H_
