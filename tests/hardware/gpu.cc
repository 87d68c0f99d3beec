#include "tests/hardware/gpu.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "client/cuda/errors.h"
#include "client/cuda/load_driver.h"

namespace reigen::hardware {

void Die(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(1);
}

void Row(const std::string& result, const std::string& what, const std::string& value) {
  std::printf("ROW %s|%s|%s\n", result.c_str(), what.c_str(), value.c_str());
  std::fflush(stdout);
}

Gpu::Gpu() {
  const sdk::Result loaded = sdk::cuda::LoadDriver(sdk::cuda::kDriverLibrary, &api_);
  if (!loaded.ok()) Die(loaded.text);
  library_ = dlopen(sdk::cuda::kDriverLibrary, RTLD_NOW);
  Check("cuInit", api_.init(0));
  sdk::cuda::CuContext context = nullptr;
  Check("cuDevicePrimaryCtxRetain", api_.primary_retain(&context, 0));
  Check("cuCtxPushCurrent", api_.push_context(context));
  Check("cuStreamCreate", api_.stream_create(&stream_, sdk::cuda::kCuStreamNonBlocking, 0));
}

void Gpu::Check(const char* call, CuResult code) const {
  const sdk::Result result = sdk::cuda::FromCuda(api_, 0, call, code);
  if (!result.ok()) Die(result.text);
}

void* Gpu::Find(const char* symbol) const { return dlsym(library_, symbol); }

int Gpu::Attribute(int attribute) const {
  using Function = CuResult (*)(int*, int, sdk::cuda::CuDevice);
  int value = -1;
  const auto get = reinterpret_cast<Function>(Find("cuDeviceGetAttribute"));
  if (get == nullptr || get(&value, attribute, 0) != sdk::cuda::kCuSuccess) return -1;
  return value;
}

CuAddress Gpu::Allocate(size_t bytes) const {
  CuAddress memory = 0;
  Check("cuMemAlloc", api_.allocate(&memory, std::max<size_t>(bytes, 1)));
  return memory;
}

void Gpu::Free(CuAddress memory) const { Check("cuMemFree", api_.free(memory)); }

void Gpu::Write(CuAddress memory, std::span<const std::byte> host) const {
  Check("cuMemcpyHtoDAsync", api_.copy_to_device(memory, host.data(), host.size(), stream_));
  Wait();
}

CuAddress Gpu::Upload(std::span<const std::byte> host) const {
  const CuAddress memory = Allocate(host.size());
  Write(memory, host);
  return memory;
}

Bytes Gpu::Download(CuAddress memory, size_t bytes) const {
  Bytes host(bytes);
  Check("cuMemcpyDtoHAsync", api_.copy_to_host(host.data(), memory, bytes, stream_));
  Wait();
  return host;
}

void Gpu::Wait(CuStream stream) const {
  constexpr auto kLimit = std::chrono::seconds(120);
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    const CuResult code = api_.stream_query(stream);
    if (code != sdk::cuda::kCuNotReady) return Check("cuStreamQuery", code);
    if (std::chrono::steady_clock::now() - begin > kLimit) Die("the GPU did not end in 120 s");
    std::this_thread::yield();
  }
}

}  // namespace reigen::hardware
