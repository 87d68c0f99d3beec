// Goal: every view that NumPy or torch can make is read and written element by
// element; what cannot hold a result, or leaves 64 bits, is refused.
#include "client/c/layout.h"

#include <cstring>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace reigen::sdk {
namespace {

using Shape = std::vector<int64_t>;

Layout Make(const Shape& shape, const Shape& strides, size_t element = 4) {
  uint64_t count = 0;
  EXPECT_TRUE(CountElements(shape, element, &count).ok());
  Layout layout;
  EXPECT_TRUE(Layout::Make(shape, strides, element, count, "t", &layout).ok());
  return layout;
}

// The offsets, in elements of int32, in logical order.
std::vector<int> Order(const Layout& layout, int64_t first, size_t count) {
  std::vector<int32_t> memory(64);
  std::iota(memory.begin(), memory.end(), 0);
  std::vector<int32_t> packed(count, -1);
  layout.Gather(reinterpret_cast<const std::byte*>(memory.data() + first),
                reinterpret_cast<std::byte*>(packed.data()));
  return packed;
}

TEST(LayoutTest, NoStridesArePacked) {
  EXPECT_TRUE(Make({2, 3}, {}).contiguous());
  EXPECT_TRUE(Make({2, 3}, {12, 4}).contiguous());
  EXPECT_TRUE(Make({}, {}).contiguous());
}

TEST(LayoutTest, ExtentsOfOneMayHaveAnyStride) {
  EXPECT_TRUE(Make({1, 3, 1}, {-400, 4, 77}).contiguous());
}

TEST(LayoutTest, AColumnIsGathered) {
  const Layout column = Make({4}, {16});
  EXPECT_FALSE(column.contiguous());
  EXPECT_EQ(Order(column, 1, 4), (std::vector<int>{1, 5, 9, 13}));
}

TEST(LayoutTest, ATransposedMatrixIsGatheredInLogicalOrder) {
  EXPECT_EQ(Order(Make({3, 2}, {4, 12}), 0, 6), (std::vector<int>{0, 3, 1, 4, 2, 5}));
}

TEST(LayoutTest, ThreeDimensionsCarry) {
  // Channels last: shape (2, 2, 2), the first dimension innermost in memory.
  EXPECT_EQ(Order(Make({2, 2, 2}, {4, 16, 8}), 0, 8),
            (std::vector<int>{0, 2, 4, 6, 1, 3, 5, 7}));
}

TEST(LayoutTest, NegativeStridesReachBelowThePointer) {
  const Layout reversed = Make({4}, {-4});
  EXPECT_EQ(reversed.begin(), -12);
  EXPECT_EQ(reversed.end(), 4);
  EXPECT_EQ(Order(reversed, 3, 4), (std::vector<int>{3, 2, 1, 0}));
  EXPECT_FALSE(reversed.overlaps());
}

TEST(LayoutTest, AnExpandedViewIsReadAndNotWritten) {
  const Layout expanded = Make({3, 2}, {0, 4});
  EXPECT_EQ(Order(expanded, 5, 6), (std::vector<int>{5, 6, 5, 6, 5, 6}));
  EXPECT_TRUE(expanded.overlaps());
  EXPECT_TRUE(Make({4, 4}, {4, 4}).overlaps());   // windows
  EXPECT_FALSE(Make({2, 2}, {12, 8}).overlaps());  // 0 2 3 5
}

TEST(LayoutTest, ScatterWritesTheViewAndNothingElse) {
  for (const size_t element : {1, 2, 4, 8}) {
    const auto step = static_cast<int64_t>(element);
    const Layout view = Make({2, 3}, {8 * step, 2 * step}, element);
    std::vector<std::byte> memory(16 * element, std::byte{0xee});
    std::vector<std::byte> packed(6 * element);
    for (size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<std::byte>(i);
    view.Scatter(packed.data(), memory.data());
    std::vector<std::byte> again(packed.size());
    view.Gather(memory.data(), again.data());
    EXPECT_EQ(again, packed);
    for (const size_t untouched : {1, 3, 5, 6, 7, 9, 11, 13}) {
      EXPECT_EQ(memory[untouched * element], std::byte{0xee});
    }
  }
}

TEST(LayoutTest, ZeroElementsTouchNothing) {
  const Layout none = Make({3, 0}, {INT64_MAX, INT64_MIN});
  none.Gather(nullptr, nullptr);
  none.Scatter(nullptr, nullptr);
  EXPECT_TRUE(none.contiguous());
}

TEST(LayoutTest, WhatLeaves64BitsIsRefused) {
  uint64_t count = 0;
  EXPECT_FALSE(CountElements(Shape{int64_t{1} << 40, int64_t{1} << 40}, 1, &count).ok());
  EXPECT_FALSE(CountElements(Shape{int64_t{1} << 61}, 8, &count).ok());
  EXPECT_FALSE(CountElements(Shape{2, -1}, 4, &count).ok());
  EXPECT_TRUE(CountElements(Shape{int64_t{1} << 60, int64_t{1} << 60, 0}, 8, &count).ok());
  EXPECT_EQ(count, 0u);
  Layout layout;
  const Result far = Layout::Make(Shape{3}, Shape{INT64_MAX}, 4, 3, "x: input", &layout);
  EXPECT_EQ(far.code, REIGEN_INVALID_ARGUMENT);
  EXPECT_NE(far.text.find("x: input"), std::string::npos);
}

}  // namespace
}  // namespace reigen::sdk
