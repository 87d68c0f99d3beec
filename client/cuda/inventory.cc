#include "client/cuda/inventory.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <optional>
#include <type_traits>

#include "client/cuda/driver_api.h"
#include "runtime/gpudirect/distance.h"
#include "runtime/probe/sysfs.h"

namespace reigen::sdk::cuda {
namespace {

// CUdevice_attribute.
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;
constexpr int kGpuDirectRdma = 116;
constexpr int kWritesOrdering = 118;
constexpr int kDmaBuf = 124;

// More than any machine has; a larger number is a driver gone wrong.
constexpr int kMaxGpus = 256;

// What DriverApi has no use for, as X(member, symbol, parameters).
#define REIGEN_CUDA_INVENTORY(X)                                                     \
  X(init, cuInit, (unsigned flags))                                                  \
  X(driver_version, cuDriverGetVersion, (int* version))                              \
  X(device_count, cuDeviceGetCount, (int* count))                                    \
  X(device_get, cuDeviceGet, (CuDevice * device, int ordinal))                       \
  X(device_name, cuDeviceGetName, (char* name, int length, CuDevice device))         \
  X(bus_id, cuDeviceGetPCIBusId, (char* id, int length, CuDevice device))            \
  X(memory, cuDeviceTotalMem_v2, (size_t * bytes, CuDevice device))                  \
  X(attribute, cuDeviceGetAttribute, (int* value, int attribute, CuDevice device))   \
  X(can_access, cuDeviceCanAccessPeer, (int* can, CuDevice device, CuDevice peer))   \
  X(error_name, cuGetErrorName, (CuResult code, const char** name))                  \
  X(error_text, cuGetErrorString, (CuResult code, const char** text))

struct Inventory {
#define REIGEN_CUDA_MEMBER(member, symbol, parameters) CuResult(*member) parameters = nullptr;
  REIGEN_CUDA_INVENTORY(REIGEN_CUDA_MEMBER)
#undef REIGEN_CUDA_MEMBER
};

// Empty, or why not. The library stays open.
std::string Load(const char* library, Inventory& api) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    return why != nullptr ? why : library;
  }
  const char* missing = nullptr;
  const auto find = [&](const char* symbol, auto* member) {
    void* const address = dlsym(handle, symbol);
    if (address == nullptr && missing == nullptr) missing = symbol;
    *member = reinterpret_cast<std::remove_pointer_t<decltype(member)>>(address);
  };
#define REIGEN_CUDA_FIND(member, symbol, parameters) find(#symbol, &api.member);
  REIGEN_CUDA_INVENTORY(REIGEN_CUDA_FIND)
#undef REIGEN_CUDA_FIND
  return missing == nullptr ? "" : std::string(library) + " lacks " + missing;
}

std::string ErrorText(const Inventory& api, const char* call, CuResult code) {
  const char* name = nullptr;
  const char* text = nullptr;
  std::string what = std::to_string(code);
  if (api.error_name(code, &name) == kCuSuccess && name != nullptr) what = name;
  if (api.error_text(code, &text) == kCuSuccess && text != nullptr) {
    what += std::string(" (") + text + ")";
  }
  return std::string(call) + ": " + what;
}

// An attribute that an old driver does not know is 0.
int Attribute(const Inventory& api, CuDevice device, int attribute) {
  int value = 0;
  return api.attribute(&value, attribute, device) == kCuSuccess ? value : 0;
}

probe::GpuFacts Describe(const Inventory& api, int ordinal, int count) {
  probe::GpuFacts gpu;
  gpu.ordinal = ordinal;
  CuDevice device = 0;
  if (api.device_get(&device, ordinal) != kCuSuccess) return gpu;
  char text[256] = "";
  if (api.device_name(text, sizeof text - 1, device) == kCuSuccess) gpu.name = text;
  char bus_id[32] = "";
  if (api.bus_id(bus_id, sizeof bus_id - 1, device) == kCuSuccess) {
    gpu.bus_id = gpudirect::NormalBusId(bus_id);
  }
  size_t bytes = 0;
  if (api.memory(&bytes, device) == kCuSuccess) gpu.memory_bytes = bytes;
  gpu.capability_major = Attribute(api, device, kCapabilityMajor);
  gpu.capability_minor = Attribute(api, device, kCapabilityMinor);
  gpu.allows_rdma = Attribute(api, device, kGpuDirectRdma) != 0;
  gpu.exports_dmabuf = Attribute(api, device, kDmaBuf) != 0;
  gpu.writes_ordering = Attribute(api, device, kWritesOrdering);
  for (int other = 0; other < count; ++other) {
    CuDevice peer = 0;
    int can = 0;
    if (other != ordinal && api.device_get(&peer, other) == kCuSuccess &&
        api.can_access(&can, device, peer) == kCuSuccess && can != 0) {
      gpu.peers.push_back(other);
    }
  }
  return gpu;
}

}  // namespace

probe::CudaFacts ProbeCuda(const char* library, const std::string& root) {
  probe::CudaFacts facts;
  facts.kernel_driver = probe::FirstLine(root + "/proc/driver/nvidia/version").value_or("");
  if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    facts.visible_devices = visible;
  }
  Inventory api;
  facts.library_error = Load(library, api);
  if (!facts.library_error.empty()) return facts;
  if (api.driver_version(&facts.driver_version) != kCuSuccess) facts.driver_version = 0;
  int count = 0;
  const char* call = "cuInit";
  CuResult code = api.init(0);
  if (code == kCuSuccess) {
    call = "cuDeviceGetCount";
    code = api.device_count(&count);
  }
  facts.no_device = code == kCuNoDevice || (code == kCuSuccess && count == 0);
  if (code != kCuSuccess) {
    facts.start_error = ErrorText(api, call, code);
    return facts;
  }
  for (int ordinal = 0; ordinal < count && ordinal < kMaxGpus; ++ordinal) {
    facts.gpus.push_back(Describe(api, ordinal, count));
  }
  return facts;
}

}  // namespace reigen::sdk::cuda
