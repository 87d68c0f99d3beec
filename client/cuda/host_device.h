// For code that the GPU runs, and the host can run too.
#ifndef REIGEN_CLIENT_CUDA_HOST_DEVICE_H_
#define REIGEN_CLIENT_CUDA_HOST_DEVICE_H_

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define REIGEN_HOST_DEVICE __host__ __device__
// Before a loop over an array that shall be registers.
#define REIGEN_UNROLL _Pragma("unroll")
#else
#define REIGEN_HOST_DEVICE
#define REIGEN_UNROLL
#endif

namespace reigen::sdk::cuda {

// What a thread moves at best.
struct alignas(16) Wide {
  uint64_t low;
  uint64_t high;
};

#ifndef __CUDACC__
// The host takes any address: what a GPU would not have taken, in this thread.
inline bool& SawMisaligned() {
  static thread_local bool saw = false;
  return saw;
}
#define REIGEN_NOTE_ALIGNMENT(address, T) \
  if ((address) % alignof(T) != 0) SawMisaligned() = true
#else
#define REIGEN_NOTE_ALIGNMENT(address, T)
#endif

// One access of the GPU's. The address is aligned for T.
template <typename T>
REIGEN_HOST_DEVICE T Load(uint64_t from) {
#ifdef __CUDA_ARCH__
  return *reinterpret_cast<const T*>(from);
#else
  REIGEN_NOTE_ALIGNMENT(from, T);
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(from), sizeof value);
  return value;
#endif
}

template <typename T>
REIGEN_HOST_DEVICE void Store(uint64_t to, const T& value) {
#ifdef __CUDA_ARCH__
  *reinterpret_cast<T*>(to) = value;
#else
  REIGEN_NOTE_ALIGNMENT(to, T);
  std::memcpy(reinterpret_cast<void*>(to), &value, sizeof value);
#endif
}

template <typename T>
REIGEN_HOST_DEVICE void Move(uint64_t to, uint64_t from) {
  Store(to, Load<T>(from));
}

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_HOST_DEVICE_H_
