// The fake libcuda's answers about its GPUs: H100s below one switch, as it were.
#include <cstddef>
#include <cstdio>

#include "client/cuda/testing/fake_call.h"
#include "client/cuda/testing/fake_knobs.h"

using reigen::fake_cuda::HasPeerAccess;
using reigen::fake_cuda::kInvalidValue;
using reigen::fake_cuda::Machine;
using reigen::fake_cuda::PhysicalDevice;
using reigen::fake_cuda::Run;

namespace {

constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;
constexpr int kGpuDirectRdma = 116;
constexpr int kWritesOrdering = 118;
constexpr int kOrderedForOwner = 100;
constexpr int kDmaBuf = 124;

int AttributeOf(int attribute, int* value) {
  switch (attribute) {
    case kCapabilityMajor:
      *value = 9;
      return 0;
    case kCapabilityMinor:
      *value = 0;
      return 0;
    case kGpuDirectRdma:
    case kDmaBuf:
      *value = 1;
      return 0;
    case kWritesOrdering:
      *value = kOrderedForOwner;
      return 0;
    default:
      return kInvalidValue;
  }
}

}  // namespace

FAKE_CUDA cuDeviceGetName(char* name, int length, int device) {
  return Run("cuDeviceGetName", false, [=](Machine&) {
    std::snprintf(name, static_cast<size_t>(length), "Fake GPU %d", PhysicalDevice(device));
    return 0;
  });
}

FAKE_CUDA cuDeviceGetPCIBusId(char* id, int length, int device) {
  return Run("cuDeviceGetPCIBusId", false, [=](Machine&) {
    const auto slot = static_cast<unsigned>(3 + PhysicalDevice(device));
    std::snprintf(id, static_cast<size_t>(length), "0000:%XB:00.0", slot);
    return 0;
  });
}

FAKE_CUDA cuDeviceTotalMem_v2(size_t* bytes, int) {
  return Run("cuDeviceTotalMem_v2", false, [=](Machine&) {
    *bytes = size_t{80} << 30;
    return 0;
  });
}

FAKE_CUDA cuDeviceGetAttribute(int* value, int attribute, int) {
  return Run("cuDeviceGetAttribute", false,
             [=](Machine&) { return AttributeOf(attribute, value); });
}

FAKE_CUDA cuDeviceCanAccessPeer(int* can, int, int) {
  return Run("cuDeviceCanAccessPeer", false, [=](Machine&) {
    *can = HasPeerAccess() ? 1 : 0;
    return 0;
  });
}
