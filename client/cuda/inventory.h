// What GPUs this machine has and can do: for people who look, before any job. Starts
// CUDA (cuInit) and makes no context.
#ifndef REIGEN_CLIENT_CUDA_INVENTORY_H_
#define REIGEN_CLIENT_CUDA_INVENTORY_H_

#include <string>

#include "runtime/probe/facts.h"

namespace reigen::sdk::cuda {

// `library` is libcuda's name; `root` is "" for this machine's /proc. No driver, no GPU
// and a driver that does not start are facts as well.
probe::CudaFacts ProbeCuda(const char* library, const std::string& root);

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_INVENTORY_H_
