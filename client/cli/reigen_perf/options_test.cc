#include "client/cli/reigen_perf/options.h"

#include <gtest/gtest.h>

namespace reigen::perf {
namespace {

std::optional<Options> Parse(std::vector<std::string> words, int* exit_code) {
  words.insert(words.begin(), "reigen-perf");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return ParseOptions(static_cast<int>(argv.size()), argv.data(), exit_code);
}

std::optional<Options> Parse(const std::vector<std::string>& words) {
  int exit_code = 0;
  return Parse(words, &exit_code);
}

TEST(OptionsTest, SizesHaveUnitsOfPowersOf1024) {
  EXPECT_EQ(4u, ParseBytes("4"));
  EXPECT_EQ(65536u, ParseBytes("64KiB"));
  EXPECT_EQ(1048576u, ParseBytes("1m"));
  EXPECT_EQ(std::nullopt, ParseBytes("four"));
  EXPECT_EQ(std::nullopt, ParseBytes("1.5M"));
  EXPECT_EQ(std::nullopt, ParseBytes("99999999999G"));
}

TEST(OptionsTest, SizesGrowByTheFactorAndEndAtTheLargest) {
  const std::optional<Options> options = Parse({"--min", "4", "--max", "1K", "--factor", "4"});
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ((std::vector<uint64_t>{1, 4, 16, 64, 256}), Counts(*options, REIGEN_FLOAT32));
}

TEST(OptionsTest, ZeroBytesIsOneSize) {
  const std::optional<Options> options = Parse({"--min", "0", "--max", "1K"});
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ((std::vector<uint64_t>{0}), Counts(*options, REIGEN_FLOAT32));
}

TEST(OptionsTest, CountsReplaceSizes) {
  const std::optional<Options> options = Parse({"--counts", "0,1,1023"});
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ((std::vector<uint64_t>{0, 1, 1023}), Counts(*options, REIGEN_FLOAT64));
}

TEST(OptionsTest, AllMeansEveryOperationAndType) {
  const std::optional<Options> options = Parse({"--op", "all", "--dtype", "all"});
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(6u, options->operations.size());
  EXPECT_EQ(10u, options->dtypes.size());
}

TEST(OptionsTest, ManyTensorsHaveOneSize) {
  const std::optional<Options> options = Parse({"--tensors", "1000x4KiB"});
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(1000u, options->tensors);
  EXPECT_EQ((std::vector<uint64_t>{2048}), Counts(*options, REIGEN_FLOAT16));
}

TEST(OptionsTest, MistakesAreRefused) {
  EXPECT_FALSE(Parse({"--op", "median"}).has_value());
  EXPECT_FALSE(Parse({"--dtype", "float128"}).has_value());
  EXPECT_FALSE(Parse({"--tensors", "4KiB"}).has_value());
  EXPECT_FALSE(Parse({"--memory", "disk"}).has_value());
  EXPECT_FALSE(Parse({"--iters", "0"}).has_value());
  EXPECT_FALSE(Parse({"--op", "average", "--dtype", "bool"}).has_value());
}

TEST(OptionsTest, AMistakeIsOneLineAndCodeTwo) {
  const auto said = [](const std::vector<std::string>& words) {
    int exit_code = 0;
    testing::internal::CaptureStderr();
    EXPECT_FALSE(Parse(words, &exit_code).has_value());
    EXPECT_EQ(2, exit_code);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ("reigen-perf: --memory: neither arena nor heap\n", said({"--memory", "disk"}));
  EXPECT_EQ("reigen-perf: The following argument was not expected: more\n", said({"more"}));
  EXPECT_EQ("reigen-perf: --json: its value is empty\n", said({"--json", ""}));
}

TEST(OptionsTest, HelpAndVersionAreNoMistakes) {
  for (const char* const word : {"--help", "--version", "-v"}) {
    int exit_code = -1;
    EXPECT_FALSE(Parse({word}, &exit_code).has_value());
    EXPECT_EQ(0, exit_code) << word;
  }
}

}  // namespace
}  // namespace reigen::perf
