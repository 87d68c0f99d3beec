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

#include "client/cuda/host_device.h"
#include "runtime/reduce/scalar.h"

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

inline constexpr uint32_t kReduceThreads = 256;

// The argument of a launch, of a row of blocks for each item: under the 4 KiB that a
// kernel takes.
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
  // The GPU's own conversions give the same bits, those of a NaN aside.
  REIGEN_HOST_DEVICE static float Load(uint16_t v) {
#ifdef __CUDA_ARCH__
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(v));
    return wide;
#else
    return reduce::scalar::Float16ToFloat(v);
#endif
  }
  REIGEN_HOST_DEVICE static uint16_t Store(float v) {
#ifdef __CUDA_ARCH__
    uint16_t half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(v));
    return v != v ? reduce::scalar::kFloat16Nan : half;
#else
    return reduce::scalar::FloatToFloat16(v);
#endif
  }
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

// N elements of 16 bytes or more as the GPU likes it; one as it is.
template <int N, typename T>
REIGEN_HOST_DEVICE void MoveRow(T* to, const T* from) {
  const auto target = reinterpret_cast<uintptr_t>(to);
  const auto source = reinterpret_cast<uintptr_t>(from);
  if constexpr (N * sizeof(T) % sizeof(Wide) == 0) {
    REIGEN_UNROLL
    for (size_t at = 0; at < N * sizeof(T); at += sizeof(Wide)) Move<Wide>(target + at, source + at);
  } else {
    REIGEN_UNROLL
    for (size_t at = 0; at < N * sizeof(T); at += sizeof(T)) Move<T>(target + at, source + at);
  }
}

// N elements from memory, each as what is added up.
template <typename Type, int N>
REIGEN_HOST_DEVICE void LoadRow(const void* memory, uint64_t i, bool wide,
                                typename Type::Accumulator (&out)[N]) {
  using Storage = typename Type::Storage;
  using T = typename Type::Accumulator;
  if (sizeof(T) > sizeof(Storage) && wide) {
    alignas(16) T row[N];
    MoveRow<N>(row, static_cast<const T*>(memory) + i);
    REIGEN_UNROLL
    for (int n = 0; n < N; ++n) out[n] = row[n];
    return;
  }
  alignas(16) Storage row[N];
  MoveRow<N>(row, static_cast<const Storage*>(memory) + i);
  REIGEN_UNROLL
  for (int n = 0; n < N; ++n) out[n] = Type::Load(row[n]);
}

template <typename Type, int N>
REIGEN_HOST_DEVICE void StoreRow(const typename Type::Accumulator (&values)[N], uint64_t i,
                                 bool wide, void* memory) {
  using Storage = typename Type::Storage;
  using T = typename Type::Accumulator;
  if (sizeof(T) > sizeof(Storage) && wide) {
    alignas(16) T row[N];
    REIGEN_UNROLL
    for (int n = 0; n < N; ++n) row[n] = values[n];
    return MoveRow<N>(static_cast<T*>(memory) + i, row);
  }
  alignas(16) Storage row[N];
  REIGEN_UNROLL
  for (int n = 0; n < N; ++n) row[n] = Type::Store(values[n]);
  MoveRow<N>(static_cast<Storage*>(memory) + i, row);
}

template <typename T>
REIGEN_HOST_DEVICE T Finished(const ReduceBatch& batch, T sum) {
  if (batch.divisor != 1) {
    if constexpr (std::is_integral_v<T>) {
      sum = reduce::scalar::DivideInt(sum, batch.divisor);
    } else {
      sum = sum / static_cast<T>(batch.divisor);
    }
  }
  sum = Scaled(sum, batch.postscale);
  if constexpr (std::is_floating_point_v<T>) sum = reduce::scalar::Canonical(sum);
  return sum;
}

// The elements i to i + N - 1.
template <typename Type, int N>
REIGEN_HOST_DEVICE void ReduceRow(const ReduceBatch& batch, const ReduceItem& item, uint64_t i) {
  using T = typename Type::Accumulator;
  T sum[N] = {};
  T next[N] = {};
  for (uint32_t k = 0; k < batch.input_count; ++k) {
    LoadRow<Type, N>(item.inputs[k], i, false, next);
    REIGEN_UNROLL
    for (int n = 0; n < N; ++n) {
      const T v = Scaled(next[n], batch.prescale);
      sum[n] = k == 0 ? v : Combined<Type>(batch.combine, sum[n], v);
    }
  }
  if (item.received != nullptr) {
    LoadRow<Type, N>(item.received, i, batch.received_wide, next);
    REIGEN_UNROLL
    for (int n = 0; n < N; ++n) {
      sum[n] = batch.input_count == 0 ? next[n] : Combined<Type>(batch.combine, next[n], sum[n]);
    }
  }
  REIGEN_UNROLL
  for (int n = 0; n < N; ++n) sum[n] = Finished(batch, sum[n]);
  StoreRow<Type, N>(sum, i, batch.out_wide, item.out);
}

REIGEN_HOST_DEVICE inline bool IsWideAligned(const ReduceBatch& batch, const ReduceItem& item) {
  uintptr_t all = reinterpret_cast<uintptr_t>(item.received) | reinterpret_cast<uintptr_t>(item.out);
  for (uint32_t k = 0; k < batch.input_count; ++k) {
    all |= reinterpret_cast<uintptr_t>(item.inputs[k]);
  }
  return all % sizeof(Wide) == 0;
}

// What thread `thread` of `threads` does for an item.
template <typename Type>
REIGEN_HOST_DEVICE void ReduceThread(const ReduceBatch& batch, const ReduceItem& item,
                                     uint64_t thread, uint64_t threads) {
  constexpr int kRow = sizeof(Wide) / sizeof(typename Type::Storage);
  const uint64_t rows = IsWideAligned(batch, item) ? item.count / kRow : 0;
  for (uint64_t row = thread; row < rows; row += threads) {
    ReduceRow<Type, kRow>(batch, item, row * kRow);
  }
  for (uint64_t i = rows * kRow + thread; i < item.count; i += threads) {
    ReduceRow<Type, 1>(batch, item, i);
  }
}

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_REDUCE_KERNEL_H_
