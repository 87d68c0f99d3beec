#include "client/cli/reigenrun/environment.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reigen::run {
namespace {

// C23: odd names and values pass as they are.
TEST(TrainersEnvironmentTest, KeepsOddNamesAndValues) {
  const std::vector<std::string> odd = {"A.B=1", "BASH_FUNC_f%%=() { :; }\n", "Q='\"$HOME;`x`",
                                        "U=\xc3\xa4", "EMPTY=", "BIG=" + std::string(60000, 'x')};
  EXPECT_EQ(TrainersEnvironment(odd, true), odd);
  EXPECT_EQ(TrainersEnvironment(odd, false), odd);
}

TEST(TrainersEnvironmentTest, LeavesTheSessionBehindOnOtherHosts) {
  const std::vector<std::string> mine = {"_=/bin/x", "REIGEN_RANK=3", "DISPLAY=:0", "PATH=/bin"};
  EXPECT_EQ(TrainersEnvironment(mine, true), (std::vector<std::string>{"DISPLAY=:0", "PATH=/bin"}));
  EXPECT_EQ(TrainersEnvironment(mine, false), (std::vector<std::string>{"PATH=/bin"}));
}

}  // namespace
}  // namespace reigen::run
