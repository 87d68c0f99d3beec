#include "worker/spawn/trainer_spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "runtime/base/child_process.h"

namespace reigen::worker {
namespace {

launch::GuardStart TwoRanks() {
  launch::GuardStart start;
  start.set_job("j1");
  start.set_size(4);
  start.add_argv("true");
  start.mutable_host()->set_name("b");
  for (int rank : {2, 3}) {
    start.mutable_host()->add_ranks(rank);
    start.add_cross_ranks(1);
    start.add_cross_sizes(2);
  }
  return start;
}

TEST(TrainerSpecTest, TheEnvironmentSaysWhichRankItIsInBothNames) {
  const auto environment = TrainerEnvironment(TwoRanks(), 1, "/tmp/s");
  for (const std::string head : {"REIGEN_", "HOROVOD_"}) {
    EXPECT_EQ(FindVariable(environment, head + "RANK"), "3");
    EXPECT_EQ(FindVariable(environment, head + "SIZE"), "4");
    EXPECT_EQ(FindVariable(environment, head + "LOCAL_RANK"), "1");
    EXPECT_EQ(FindVariable(environment, head + "LOCAL_SIZE"), "2");
    EXPECT_EQ(FindVariable(environment, head + "CROSS_RANK"), "1");
    EXPECT_EQ(FindVariable(environment, head + "CROSS_SIZE"), "2");
  }
  EXPECT_EQ(FindVariable(environment, "REIGEN_SOCKET"), "/tmp/s");
  EXPECT_EQ(FindVariable(environment, "HOROVOD_HOSTNAME"), "b");
  EXPECT_EQ(FindVariable(environment, "HOROVOD_CONTROLLER"), "gloo");
}

TEST(TrainerSpecTest, OddNamesAndValuesPassAndInheritedRanksAreReplaced) {
  launch::GuardStart start = TwoRanks();
  const std::string function = "BASH_FUNC_f%%=() {  echo \"$HOME\"; }\n";
  for (const std::string& entry : {std::string("A.B=1"), function, std::string("HOROVOD_RANK=77"),
                                   std::string("EMPTY="), std::string("no equals sign")}) {
    start.add_environment(entry);
  }
  const auto environment = TrainerEnvironment(start, 0, "/tmp/s");
  const auto has = [&](const std::string& entry) {
    return std::count(environment.begin(), environment.end(), entry);
  };
  EXPECT_EQ(has("A.B=1"), 1);
  EXPECT_EQ(has(function), 1);
  EXPECT_EQ(has("EMPTY="), 1);
  EXPECT_EQ(has("no equals sign"), 1);
  EXPECT_EQ(has("HOROVOD_RANK=77"), 0);
  EXPECT_EQ(has("HOROVOD_RANK=2"), 1);
}

TEST(TrainerSpecTest, RefusesAMessageWhoseCountsDoNotFit) {
  EXPECT_TRUE(CheckGuardStart(TwoRanks()).ok());
  launch::GuardStart start = TwoRanks();
  start.add_cross_ranks(0);
  EXPECT_FALSE(CheckGuardStart(start).ok());
  start = TwoRanks();
  start.clear_argv();
  EXPECT_FALSE(CheckGuardStart(start).ok());
  start = TwoRanks();
  start.mutable_host()->set_ranks(0, 4);
  EXPECT_FALSE(CheckGuardStart(start).ok());
}

}  // namespace
}  // namespace reigen::worker
