// Whole jobs from seeds. One again, or many more:
//   sim_test --seed=N [--count=M] [--plant=NUMBER]
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/sim/world.h"

namespace reigen::sim {
namespace {

TEST(SimTest, JobsFromSeedsGoAsTheDesignSays) {
  for (uint64_t seed = 1; seed <= REIGEN_SIM_SEEDS; ++seed) {
    const std::string wrong = RunSeed(seed, Plant::kNone);
    ASSERT_EQ(wrong, "") << "see it again: bazel run //tests/sim:sim_test -- --seed=" << seed;
  }
}

class PlantedFaultTest : public testing::TestWithParam<Plant> {};

TEST_P(PlantedFaultTest, IsFound) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    if (!RunSeed(seed, GetParam()).empty()) ++found;
  }
  EXPECT_GT(found, 5);
}

INSTANTIATE_TEST_SUITE_P(All, PlantedFaultTest,
                         testing::Values(Plant::kWrongInput, Plant::kSkippedBucket,
                                         Plant::kLostReady, Plant::kLateWrite,
                                         Plant::kSwappedPlans));

TEST(SimTest, ASeedRepeatsExactly) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Scenario scenario = MakeScenario(seed);
    World first(scenario, Plant::kLostReady);
    World second(scenario, Plant::kLostReady);
    EXPECT_EQ(first.Run(), second.Run());
    EXPECT_EQ(first.completions(), second.completions());
  }
}

}  // namespace
}  // namespace reigen::sim

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  uint64_t seed = 0;
  uint64_t count = 1;
  int plant = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.starts_with("--seed=")) seed = std::strtoull(arg.c_str() + 7, nullptr, 10);
    if (arg.starts_with("--count=")) count = std::strtoull(arg.c_str() + 8, nullptr, 10);
    if (arg.starts_with("--plant="))
      plant = static_cast<int>(std::strtol(arg.c_str() + 8, nullptr, 10));
  }
  if (seed == 0) return RUN_ALL_TESTS();
  int failures = 0;
  for (const uint64_t end = seed + count; seed < end; ++seed) {
    const std::string wrong = reigen::sim::RunSeed(seed, static_cast<reigen::sim::Plant>(plant));
    if (!wrong.empty()) ++failures;
    if (!wrong.empty()) std::cout << wrong << '\n';
  }
  std::cout << failures << " of " << count << " seeds failed" << '\n';
  return failures == 0 ? 0 : 1;
}
