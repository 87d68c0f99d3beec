#include "runtime/base/dtype.h"

#include <gtest/gtest.h>

namespace reigen {
namespace {

TEST(DataTypeTest, NamesParseBackAndEveryTypeHasASize) {
  for (int i = 0; i < kDataTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_EQ(ParseDataType(Name(type)), type);
    EXPECT_GT(ElementBytes(type), 0u);
  }
  EXPECT_FALSE(IsValidDataType(kDataTypeCount));
  EXPECT_FALSE(ParseDataType("float8").has_value());
}

TEST(ReduceOpTest, NamesParseBackAndAdasumsNumberIsReserved) {
  for (ReduceOp op : {ReduceOp::kAverage, ReduceOp::kSum, ReduceOp::kMin,
                      ReduceOp::kMax, ReduceOp::kProduct}) {
    EXPECT_EQ(ParseReduceOp(Name(op)), op);
    EXPECT_TRUE(IsValidReduceOp(static_cast<uint8_t>(op)));
  }
  EXPECT_FALSE(IsValidReduceOp(2));
  EXPECT_FALSE(IsValidReduceOp(6));
}

}  // namespace
}  // namespace reigen
