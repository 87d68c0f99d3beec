// A trainer of shared_gpu_test: sums one CUDA tensor, {rank + 1, 10 * (rank + 1)}, and ends
// with 0 if the result is that of ranks 0 and 1. Of one rank it just exits with 0.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "client/c/reigen.h"
#include "client/cuda/testing/fake_driver.h"

namespace {

bool Run() {
  reigen::sdk::cuda::FakeDriver driver;
  const auto stream = driver.NewStream();
  const auto x = driver.Allocate(8);
  if (reigen_init() != REIGEN_OK) return false;
  const auto mine = static_cast<float>(reigen_rank() + 1);
  driver.Write(x, {mine, 10 * mine}, stream);
  const int64_t two = 2;
  reigen_tensor tensor = {};
  tensor.struct_size = sizeof(tensor);
  tensor.name = "x";
  tensor.input = reinterpret_cast<const void*>(x);
  tensor.output = reinterpret_cast<void*>(x);
  tensor.dtype = REIGEN_FLOAT32;
  tensor.ndim = 1;
  tensor.shape = &two;
  tensor.device_kind = REIGEN_CUDA;
  tensor.stream = reinterpret_cast<uintptr_t>(stream);
  const reigen_allreduce_options options = {.struct_size = sizeof(reigen_allreduce_options),
                                            .op = REIGEN_SUM, .process_set = 0,
                                            .prescale = 1.0, .postscale = 1.0};
  reigen_handle handle = 0;
  if (reigen_allreduce_async(nullptr, &tensor, 1, &options, &handle) != REIGEN_OK) return false;
  if (reigen_wait(handle, 60.0) != REIGEN_OK) return false;
  reigen_release(handle);
  if (reigen_size() == 1) std::exit(0);
  const std::vector<float> got = driver.Read(x, 2, stream);
  std::printf("rank %d: %g %g\n", reigen_rank(), got[0], got[1]);
  return got == std::vector<float>{3, 30} && reigen_shutdown() == REIGEN_OK;
}

}  // namespace

int main() {
  if (Run()) return 0;
  std::fprintf(stderr, "%s\n", reigen_last_error());
  return 1;
}
