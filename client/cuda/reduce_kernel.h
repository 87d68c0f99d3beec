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

// N elements, which are 16 bytes or one.
template <typename T, int N>
struct alignas(N * sizeof(T)) Elements {
  T at[N];
};

template <int N, typename T>
REIGEN_HOST_DEVICE Elements<T, N> LoadElements(const void* memory, uint64_t i) {
  return Load<Elements<T, N>>(reinterpret_cast<uintptr_t>(memory) + i * sizeof(T));
}

// What is added up, in memory as it is: only between hosts, of halves.
template <int N, typename T>
REIGEN_HOST_DEVICE void LoadWide(const void* memory, uint64_t i, T (&out)[N]) {
  constexpr int kPart = N > 4 ? 4 : N;
  REIGEN_UNROLL
  for (int part = 0; part < N / kPart; ++part) {
    const auto row = LoadElements<kPart, T>(memory, i + part * kPart);
    REIGEN_UNROLL
    for (int n = 0; n < kPart; ++n) out[part * kPart + n] = row.at[n];
  }
}

template <int N, typename T>
REIGEN_HOST_DEVICE void StoreWide(const T (&values)[N], uint64_t i, void* memory) {
  constexpr int kPart = N > 4 ? 4 : N;
  REIGEN_UNROLL
  for (int part = 0; part < N / kPart; ++part) {
    Elements<T, kPart> row;
    REIGEN_UNROLL
    for (int n = 0; n < kPart; ++n) row.at[n] = values[part * kPart + n];
    Store(reinterpret_cast<uintptr_t>(memory) + (i + part * kPart) * sizeof(T), row);
  }
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

// Adds the inputs k to k + Inputs - 1, all of them loaded before the first is added.
template <typename Type, int N, int Inputs>
REIGEN_HOST_DEVICE void AddInputs(const ReduceBatch& batch, const ReduceItem& item, uint64_t i,
                                  uint32_t k, typename Type::Accumulator (&sum)[N]) {
  Elements<typename Type::Storage, N> rows[Inputs];
  REIGEN_UNROLL
  for (int j = 0; j < Inputs; ++j) {
    rows[j] = LoadElements<N, typename Type::Storage>(item.inputs[k + j], i);
  }
  REIGEN_UNROLL
  for (int j = 0; j < Inputs; ++j) {
    REIGEN_UNROLL
    for (int n = 0; n < N; ++n) {
      const auto v = Scaled(Type::Load(rows[j].at[n]), batch.prescale);
      sum[n] = k + j == 0 ? v : Combined<Type>(batch.combine, sum[n], v);
    }
  }
}

// The elements i to i + N - 1.
template <typename Type, int N>
REIGEN_HOST_DEVICE void ReduceRow(const ReduceBatch& batch, const ReduceItem& item, uint64_t i) {
  using Storage = typename Type::Storage;
  using T = typename Type::Accumulator;
  constexpr bool kHalf = sizeof(T) > sizeof(Storage);
  T sum[N] = {};
  uint32_t k = 0;
  for (; k + 4 <= batch.input_count; k += 4) AddInputs<Type, N, 4>(batch, item, i, k, sum);
  for (; k < batch.input_count; ++k) AddInputs<Type, N, 1>(batch, item, i, k, sum);
  if (item.received != nullptr) {
    T next[N];
    if (kHalf && batch.received_wide) {
      LoadWide(item.received, i, next);
    } else {
      const auto row = LoadElements<N, Storage>(item.received, i);
      REIGEN_UNROLL
      for (int n = 0; n < N; ++n) next[n] = Type::Load(row.at[n]);
    }
    REIGEN_UNROLL
    for (int n = 0; n < N; ++n) {
      sum[n] = batch.input_count == 0 ? next[n] : Combined<Type>(batch.combine, next[n], sum[n]);
    }
  }
  REIGEN_UNROLL
  for (int n = 0; n < N; ++n) sum[n] = Finished(batch, sum[n]);
  if (kHalf && batch.out_wide) return StoreWide(sum, i, item.out);
  Elements<Storage, N> row;
  REIGEN_UNROLL
  for (int n = 0; n < N; ++n) row.at[n] = Type::Store(sum[n]);
  Store(reinterpret_cast<uintptr_t>(item.out) + i * sizeof(Storage), row);
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
