#include "runtime/base/dtype.h"

namespace reigen {

std::optional<DataType> ParseDataType(std::string_view name) {
  for (int i = 0; i < kDataTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    if (Name(type) == name) return type;
  }
  return std::nullopt;
}

std::optional<ReduceOp> ParseReduceOp(std::string_view name) {
  for (uint8_t i = 0; i <= 5; ++i) {
    if (IsValidReduceOp(i) && Name(static_cast<ReduceOp>(i)) == name) {
      return static_cast<ReduceOp>(i);
    }
  }
  return std::nullopt;
}

}  // namespace reigen
