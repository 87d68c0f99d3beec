// The reduction of k inputs, as a GPU runs it: the same code for the host, so that it
// is tested against runtime/reduce/kernels.h, whose order and rules it has, bit for bit.
//
//   out = finish(received (+) (inputs[0] * prescale (+) inputs[1] * prescale (+) ...))
//
// One input and no received is "pack": scale and cast to the wire's type; no inputs
// and a received is "unpack": finish and cast back.
#ifndef REIGEN_CLIENT_CUDA_REDUCE_KERNEL_H_
#define REIGEN_CLIENT_CUDA_REDUCE_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/reduce/scalar.h"

#ifdef __CUDACC__
#define REIGEN_HOST_DEVICE __host__ __device__
#else
#define REIGEN_HOST_DEVICE
#endif

namespace reigen::sdk::cuda {

inline constexpr int kMaxReduceInputs = 16;
inline constexpr int kMaxReduceItems = 16;

enum class Combine : uint8_t { kSum, kMin, kMax, kProduct };

struct ReduceItem {
  const void* inputs[kMaxReduceInputs];
  const void* received;  // null: none
  void* out;
  uint64_t count;
};

// The argument of a launch: under the 4 KiB that a kernel takes.
struct ReduceBatch {
  ReduceItem items[kMaxReduceItems];
  double prescale;
  double postscale;
  uint64_t divisor;
  uint32_t item_count;
  uint32_t input_count;
  Combine combine;
  bool received_wide;  // halves: float32 in place of the type
  bool out_wide;
};
static_assert(sizeof(ReduceBatch) <= 4096);

// How elements are stored and added up.
struct Float16 {
  using Storage = uint16_t;
  using Accumulator = float;
  REIGEN_HOST_DEVICE static float Load(uint16_t v) { return reduce::scalar::Float16ToFloat(v); }
  REIGEN_HOST_DEVICE static uint16_t Store(float v) { return reduce::scalar::FloatToFloat16(v); }
};

struct BFloat16 {
  using Storage = uint16_t;
  using Accumulator = float;
  REIGEN_HOST_DEVICE static float Load(uint16_t v) { return reduce::scalar::BFloat16ToFloat(v); }
  REIGEN_HOST_DEVICE static uint16_t Store(float v) { return reduce::scalar::FloatToBFloat16(v); }
};

struct Bool {
  using Storage = uint8_t;
  using Accumulator = uint8_t;
  REIGEN_HOST_DEVICE static uint8_t Load(uint8_t v) { return v != 0 ? 1 : 0; }
  REIGEN_HOST_DEVICE static uint8_t Store(uint8_t v) { return v; }
};

template <typename T>
struct Plain {
  using Storage = T;
  using Accumulator = T;
  REIGEN_HOST_DEVICE static T Load(T v) { return v; }
  REIGEN_HOST_DEVICE static T Store(T v) { return v; }
};

// min(-0,+0) = -0, max(-0,+0) = +0; a NaN wins.
template <typename T>
REIGEN_HOST_DEVICE T Smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return a != a ? a : b;
    if (a == b) return reduce::scalar::SignBit(a) ? a : b;
  }
  return a < b ? a : b;
}

template <typename T>
REIGEN_HOST_DEVICE T Larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return a != a ? a : b;
    if (a == b) return reduce::scalar::SignBit(a) ? b : a;
  }
  return a > b ? a : b;
}

template <typename Type>
REIGEN_HOST_DEVICE typename Type::Accumulator Combined(Combine combine,
                                                       typename Type::Accumulator a,
                                                       typename Type::Accumulator b) {
  using T = typename Type::Accumulator;
  if (combine == Combine::kMin) return Smaller(a, b);
  if (combine == Combine::kMax) return Larger(a, b);
  if constexpr (std::is_same_v<Type, Bool>) {
    return combine == Combine::kSum ? a | b : a & b;
  } else if constexpr (std::is_integral_v<T>) {
    // In 64 bits without sign: wraps, whatever the type is promoted to.
    const auto left = static_cast<uint64_t>(a);
    const auto right = static_cast<uint64_t>(b);
    return static_cast<T>(combine == Combine::kSum ? left + right : left * right);
  } else {
    return combine == Combine::kSum ? a + b : a * b;
  }
}

template <typename T>
REIGEN_HOST_DEVICE T Scaled(T v, double scale) {
  if (scale == 1.0) return v;
  if constexpr (std::is_integral_v<T>) {
    return reduce::scalar::ScaleInt(v, static_cast<reduce::scalar::ScaleType<T>>(scale));
  } else {
    return v * static_cast<T>(scale);
  }
}

template <typename Type>
REIGEN_HOST_DEVICE void ReduceElement(const ReduceBatch& batch, const ReduceItem& item,
                                      uint64_t i) {
  using Storage = typename Type::Storage;
  using T = typename Type::Accumulator;
  constexpr bool kHalf = sizeof(T) > sizeof(Storage);
  T sum{};
  for (uint32_t k = 0; k < batch.input_count; ++k) {
    const T v = Scaled(Type::Load(static_cast<const Storage*>(item.inputs[k])[i]), batch.prescale);
    sum = k == 0 ? v : Combined<Type>(batch.combine, sum, v);
  }
  if (item.received != nullptr) {
    const T r = kHalf && batch.received_wide
                    ? static_cast<const T*>(item.received)[i]
                    : Type::Load(static_cast<const Storage*>(item.received)[i]);
    sum = batch.input_count == 0 ? r : Combined<Type>(batch.combine, r, sum);
  }
  if (batch.divisor != 1) {
    if constexpr (std::is_integral_v<T>) {
      sum = reduce::scalar::DivideInt(sum, batch.divisor);
    } else {
      sum = sum / static_cast<T>(batch.divisor);
    }
  }
  sum = Scaled(sum, batch.postscale);
  if constexpr (std::is_floating_point_v<T>) sum = reduce::scalar::Canonical(sum);
  if (kHalf && batch.out_wide) {
    static_cast<T*>(item.out)[i] = sum;
  } else {
    static_cast<Storage*>(item.out)[i] = Type::Store(sum);
  }
}

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_REDUCE_KERNEL_H_
