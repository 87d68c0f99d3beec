#include "proto/local/fixed_text.h"

#include <gtest/gtest.h>

#include <string>

namespace reigen::local {
namespace {

std::string Kept(std::string_view text, size_t room) {
  return std::string(text.substr(0, FittingBytes(text, room)));
}

TEST(FixedTextTest, NoNameIsCutInTheMiddle) {
  const std::string text = "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory)";
  EXPECT_EQ(Kept(text, text.size()), text);
  EXPECT_EQ(Kept(text, text.size() - 1), "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(Kept(text, 36), "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(Kept(text, 35), "cuMemAlloc:");
  EXPECT_EQ(Kept(text, 11), "cuMemAlloc:");
}

TEST(FixedTextTest, AWordThatIsTooLongByItselfIsCut) {
  EXPECT_EQ(Kept("CUDA_ERROR", 4), "CUDA");
  EXPECT_EQ(Kept("", 0), "");
}

TEST(FixedTextTest, TheFieldEndsWithAZero) {
  char field[8];
  EXPECT_EQ(PutText("one two three", field), 7u);
  EXPECT_STREQ(field, "one two");
  EXPECT_EQ(PutText("", field), 0u);
  EXPECT_STREQ(field, "");
}

}  // namespace
}  // namespace reigen::local
