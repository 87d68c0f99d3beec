// How each function of the fake libcuda begins.
#ifndef REIGEN_CLIENT_CUDA_TESTING_FAKE_CALL_H_
#define REIGEN_CLIENT_CUDA_TESTING_FAKE_CALL_H_

#include <mutex>

#include "client/cuda/testing/fake_machine.h"

// The callers' types have other names for the handles, which UBSan would find.
#ifdef __clang__
#define FAKE_CUDA extern "C" __attribute__((visibility("default"), no_sanitize("function"))) int
#else
#define FAKE_CUDA extern "C" __attribute__((visibility("default"))) int
#endif

namespace reigen::fake_cuda {

inline constexpr int kInvalidValue = 1;

// One call: under the lock, unless it is to fail.
template <typename Call>
int Run(const char* symbol, bool needs_context, Call call) {
  Machine& machine = Machine::Get();
  const std::lock_guard lock(machine.mutex());
  const int code = machine.Enter(symbol, needs_context);
  return code != 0 ? code : call(machine);
}

}  // namespace reigen::fake_cuda

#endif  // REIGEN_CLIENT_CUDA_TESTING_FAKE_CALL_H_
