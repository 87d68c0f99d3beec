#include "runtime/collective/scratch.h"

#include <gtest/gtest.h>

#include <vector>

namespace reigen::collective {
namespace {

class ScratchTest : public testing::Test {
 protected:
  std::vector<std::byte> memory_ = std::vector<std::byte>(1024);
  Scratch scratch_{memory_};
};

TEST_F(ScratchTest, AWindowThatDoesNotFitIsRefused) {
  EXPECT_TRUE(scratch_.Open(1, 512).ok());
  EXPECT_TRUE(scratch_.Open(2, 512).ok());
  EXPECT_EQ(scratch_.Open(3, 1).code(), StatusCode::kResourceExhausted);
  scratch_.Close(1);
  EXPECT_TRUE(scratch_.Open(3, 512).ok());
}

TEST_F(ScratchTest, SurplusNeverComesFromAWindow) {
  ASSERT_TRUE(scratch_.Open(1, 512).ok());
  EXPECT_NE(scratch_.TakeSurplus(512), nullptr);
  EXPECT_EQ(scratch_.TakeSurplus(1), nullptr);
  EXPECT_NE(scratch_.TakeFromWindow(1, 512), nullptr);
  EXPECT_EQ(scratch_.TakeFromWindow(1, 1), nullptr);
}

TEST_F(ScratchTest, AWindowOpenedOverLentSurplusIsWholeOnceThatIsBack) {
  std::byte* const lent = scratch_.TakeSurplus(64);
  ASSERT_NE(lent, nullptr);
  ASSERT_TRUE(scratch_.Open(1, 1024).ok());
  EXPECT_EQ(scratch_.TakeFromWindow(1, 1024), nullptr);
  scratch_.GiveBack(lent);
  EXPECT_NE(scratch_.TakeFromWindow(1, 1024), nullptr);
}

TEST_F(ScratchTest, PiecesDoNotOverlapAndGapsAreUsedAgain) {
  std::vector<std::byte*> taken;
  while (std::byte* const memory = scratch_.TakeSurplus(100)) taken.push_back(memory);
  ASSERT_EQ(taken.size(), 8u);  // each rounded to 128
  for (size_t i = 1; i < taken.size(); ++i) EXPECT_EQ(taken[i] - taken[i - 1], 128);
  scratch_.GiveBack(taken[3]);
  EXPECT_EQ(scratch_.TakeSurplus(200), nullptr);
  EXPECT_EQ(scratch_.TakeSurplus(128), taken[3]);
}

}  // namespace
}  // namespace reigen::collective
