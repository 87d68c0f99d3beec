// Element types and reduction operators. The numbers are part of the wire
// formats, of the local protocol and of the C ABI: never renumber.
#ifndef REIGEN_RUNTIME_BASE_DTYPE_H_
#define REIGEN_RUNTIME_BASE_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace reigen {

enum class DataType : uint8_t {
  kUint8 = 0,
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kFloat16 = 5,
  kBFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBool = 9,
};
inline constexpr int kDataTypeCount = 10;

// Horovod's numbers; 2 (its Adasum) is reserved.
enum class ReduceOp : uint8_t {
  kAverage = 0,
  kSum = 1,
  kMin = 3,
  kMax = 4,
  kProduct = 5,
};

constexpr bool IsValidDataType(uint8_t value) { return value < kDataTypeCount; }
constexpr bool IsValidReduceOp(uint8_t value) { return value <= 5 && value != 2; }

// Bytes of one element; 0 for a value that is no DataType.
constexpr size_t ElementBytes(DataType type) {
  switch (type) {
    case DataType::kUint8:
    case DataType::kInt8:
    case DataType::kBool:
      return 1;
    case DataType::kInt16:
    case DataType::kFloat16:
    case DataType::kBFloat16:
      return 2;
    case DataType::kInt32:
    case DataType::kFloat32:
      return 4;
    case DataType::kInt64:
    case DataType::kFloat64:
      return 8;
  }
  return 0;
}

constexpr std::string_view Name(DataType type) {
  switch (type) {
    case DataType::kUint8: return "uint8";
    case DataType::kInt8: return "int8";
    case DataType::kInt16: return "int16";
    case DataType::kInt32: return "int32";
    case DataType::kInt64: return "int64";
    case DataType::kFloat16: return "float16";
    case DataType::kBFloat16: return "bfloat16";
    case DataType::kFloat32: return "float32";
    case DataType::kFloat64: return "float64";
    case DataType::kBool: return "bool";
  }
  return "invalid";
}

constexpr std::string_view Name(ReduceOp op) {
  switch (op) {
    case ReduceOp::kAverage: return "average";
    case ReduceOp::kSum: return "sum";
    case ReduceOp::kMin: return "min";
    case ReduceOp::kMax: return "max";
    case ReduceOp::kProduct: return "product";
  }
  return "invalid";
}

std::optional<DataType> ParseDataType(std::string_view name);
std::optional<ReduceOp> ParseReduceOp(std::string_view name);

constexpr bool IsHalf(DataType type) {
  return type == DataType::kFloat16 || type == DataType::kBFloat16;
}
constexpr bool IsFloat(DataType type) {
  return IsHalf(type) || type == DataType::kFloat32 || type == DataType::kFloat64;
}

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_DTYPE_H_
