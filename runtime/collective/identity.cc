#include "runtime/collective/identity.h"

#include <cstdint>
#include <cstring>
#include <limits>

namespace reigen::collective {
namespace {

// What stands for a sum's, product's, minimum's and maximum's neutral element.
template <typename T>
struct Neutral {
  T sum, product, min, max;

  T For(ReduceOp op) const {
    switch (op) {
      case ReduceOp::kProduct:
        return product;
      case ReduceOp::kMin:
        return min;
      case ReduceOp::kMax:
        return max;
      case ReduceOp::kAverage:
      case ReduceOp::kSum:
        break;
    }
    return sum;
  }
};

template <typename T>
void Fill(const Neutral<T>& neutral, ReduceOp op, std::byte* out, size_t count) {
  const T value = neutral.For(op);
  for (size_t i = 0; i < count; ++i) std::memcpy(out + i * sizeof value, &value, sizeof value);
}

template <typename T>
constexpr Neutral<T> Integer() {
  return {0, 1, std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
}

template <typename T>
constexpr Neutral<T> Float() {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  return {T{-0.0}, T{1}, kInfinity, -kInfinity};
}

}  // namespace

void FillIdentity(DataType type, ReduceOp op, std::byte* out, size_t count) {
  switch (type) {
    case DataType::kUint8:
      return Fill(Integer<uint8_t>(), op, out, count);
    case DataType::kInt8:
      return Fill(Integer<int8_t>(), op, out, count);
    case DataType::kInt16:
      return Fill(Integer<int16_t>(), op, out, count);
    case DataType::kInt32:
      return Fill(Integer<int32_t>(), op, out, count);
    case DataType::kInt64:
      return Fill(Integer<int64_t>(), op, out, count);
    case DataType::kFloat16:
      return Fill(Neutral<uint16_t>{0x8000, 0x3c00, 0x7c00, 0xfc00}, op, out, count);
    case DataType::kBFloat16:
      return Fill(Neutral<uint16_t>{0x8000, 0x3f80, 0x7f80, 0xff80}, op, out, count);
    case DataType::kFloat32:
      return Fill(Float<float>(), op, out, count);
    case DataType::kFloat64:
      return Fill(Float<double>(), op, out, count);
    case DataType::kBool:  // OR: false; AND: true
      return Fill(Neutral<uint8_t>{0, 1, 1, 0}, op, out, count);
  }
}

}  // namespace reigen::collective
