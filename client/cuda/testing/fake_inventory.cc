// The fake libcuda's answers about its GPUs: two H100s below one switch, as it were.
#include <cstddef>
#include <cstdio>

#ifdef __clang__
#define FAKE_CUDA extern "C" __attribute__((visibility("default"), no_sanitize("function"))) int
#else
#define FAKE_CUDA extern "C" __attribute__((visibility("default"))) int
#endif

namespace {

constexpr int kInvalidValue = 1;
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;
constexpr int kGpuDirectRdma = 116;
constexpr int kWritesOrdering = 118;
constexpr int kOrderedForOwner = 100;
constexpr int kDmaBuf = 124;

}  // namespace

FAKE_CUDA cuDeviceGetName(char* name, int length, int device) {
  std::snprintf(name, static_cast<size_t>(length), "Fake GPU %d", device);
  return 0;
}

FAKE_CUDA cuDeviceGetPCIBusId(char* id, int length, int device) {
  std::snprintf(id, static_cast<size_t>(length), "0000:%dB:00.0", 3 + device);
  return 0;
}

FAKE_CUDA cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{80} << 30;
  return 0;
}

FAKE_CUDA cuDeviceGetAttribute(int* value, int attribute, int) {
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

FAKE_CUDA cuDeviceCanAccessPeer(int* can, int, int) {
  *can = 1;
  return 0;
}
