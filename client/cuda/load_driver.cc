#include "client/cuda/load_driver.h"

#include <dlfcn.h>

#include <string>

namespace reigen::sdk::cuda {

Result LoadDriver(const char* library, DriverApi* api) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    return Fail(REIGEN_FAILED_PRECONDITION,
                std::string("no CUDA driver on this machine: ") + (why != nullptr ? why : library));
  }
  const char* missing = nullptr;
  const auto find = [&](const char* symbol, bool optional, auto* member) {
    void* const address = dlsym(handle, symbol);
    if (address == nullptr && !optional && missing == nullptr) missing = symbol;
    *member = reinterpret_cast<std::remove_pointer_t<decltype(member)>>(address);
  };
#define REIGEN_CUDA_FIND(member, symbol, parameters) find(#symbol, false, &api->member);
#define REIGEN_CUDA_FIND_OPTIONAL(member, symbol, parameters) find(#symbol, true, &api->member);
  REIGEN_CUDA_FUNCTIONS(REIGEN_CUDA_FIND)
  REIGEN_CUDA_OPTIONAL_FUNCTIONS(REIGEN_CUDA_FIND_OPTIONAL)
#undef REIGEN_CUDA_FIND_OPTIONAL
#undef REIGEN_CUDA_FIND
  if (missing == nullptr) return Ok();
  return Fail(REIGEN_FAILED_PRECONDITION,
              std::string("the CUDA driver is too old: ") + library + " lacks " + missing);
}

}  // namespace reigen::sdk::cuda
