#include "coordinator/core/text.h"

#include <gtest/gtest.h>

namespace reigen::coordinator {
namespace {

TEST(TextTest, OneRankIsNoRanks) {
  EXPECT_EQ(RankText({4}), "rank 4");
  EXPECT_EQ(RankText({4, 2}), "ranks 2,4");
}

TEST(TextTest, NumbersAreShortAndExact) {
  EXPECT_EQ(NumberText(0.5), "0.5");
  EXPECT_EQ(NumberText(1.0), "1");
  EXPECT_EQ(NumberText(0.1), "0.1");
}

TEST(TextTest, LongTextsAreCut) {
  EXPECT_EQ(Shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(Shortened("abcdefg", 6), "abc...");
}

}  // namespace
}  // namespace reigen::coordinator
