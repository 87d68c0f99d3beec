// `reigenrun --check-build`: what this build can do.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_CHECK_BUILD_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_CHECK_BUILD_H_

#include <string>

#include "client/c/result.h"

namespace reigen::run {

// Whether the `python3` of PATH finds each framework is asked of it.
std::string CheckBuildText();

// Its part on tensors' memory: how loading the CUDA driver went, and
// sdk::cuda::KernelImageText().
std::string MemoryText(const sdk::Result& driver, const char* kernels);

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_CHECK_BUILD_H_
