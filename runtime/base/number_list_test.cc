#include "runtime/base/number_list.h"

#include <gtest/gtest.h>

namespace reigen {
namespace {

TEST(NumberListTest, ThreeOrMoreInARowAreJoined) {
  EXPECT_EQ(NumberList({}), "");
  EXPECT_EQ(NumberList({3}), "3");
  EXPECT_EQ(NumberList({1, 0}), "0,1");
  EXPECT_EQ(NumberList({0, 1, 2}), "0-2");
  EXPECT_EQ(NumberList({9, 4, 5, 6, 7, 1, 0}), "0,1,4-7,9");
}

}  // namespace
}  // namespace reigen
