// Goal: the table of refusals. Method: every pair.
#include "runtime/reduce/supported.h"

#include "gtest/gtest.h"

namespace reigen::reduce {
namespace {

TEST(SupportedTest, EverythingButAverageAndScalesOfBool) {
  for (int type = 0; type < kDataTypeCount; ++type) {
    const auto dtype = static_cast<DataType>(type);
    for (uint8_t number : {0, 1, 3, 4, 5}) {
      const auto op = static_cast<ReduceOp>(number);
      const bool is_bool = dtype == DataType::kBool;
      EXPECT_EQ(SupportedReduction(dtype, op, 1, 1), !is_bool || op != ReduceOp::kAverage);
      EXPECT_EQ(SupportedReduction(dtype, op, 0.5, 1), !is_bool);
      EXPECT_EQ(SupportedReduction(dtype, op, 1, 2), !is_bool);
    }
    EXPECT_FALSE(SupportedReduction(dtype, static_cast<ReduceOp>(2), 1, 1));
  }
  EXPECT_FALSE(SupportedReduction(static_cast<DataType>(kDataTypeCount), ReduceOp::kSum, 1, 1));
}

TEST(SupportedTest, RefusalNamesTypeAndOperator) {
  EXPECT_EQ(RefusalText(DataType::kBool, ReduceOp::kAverage),
            "average of bool is not supported: bool has no average");
  EXPECT_EQ(RefusalText(DataType::kBool, ReduceOp::kSum),
            "sum of bool with a scale is not supported: bool takes no prescale or postscale");
  EXPECT_EQ(RefusalText(DataType::kInt8, static_cast<ReduceOp>(2)),
            "invalid of int8 is not supported");
}

}  // namespace
}  // namespace reigen::reduce
