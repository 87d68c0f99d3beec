// Goal: the C++ header does what its comments say, in a job of size 1.
#include <reigen/reigen.hpp>

#include <array>
#include <cstdlib>
#include <vector>

#include "gtest/gtest.h"

namespace {

class CppTest : public testing::Test {
 protected:
  CppTest() { unsetenv("REIGEN_SOCKET"); }
};

TEST_F(CppTest, AContextIsTheMembership) {
  {
    const reigen::Context job;
    EXPECT_EQ(job.rank(), 0);
    EXPECT_EQ(job.size(), 1);
    EXPECT_EQ(reigen_is_initialized(), 1);
  }
  EXPECT_EQ(reigen_is_initialized(), 0);
}

TEST_F(CppTest, ContainersAreReducedInPlaceAndInGroups) {
  const reigen::Context job;
  std::vector<float> a = {1, 2};
  std::array<int64_t, 3> b = {1, 2, 3};
  const std::array tensors = {reigen::InPlace(a), reigen::InPlace(b)};
  reigen::Handle handle =
      reigen::AllreduceAsync(tensors, {.name = "g", .op = REIGEN_SUM, .prescale = 2.0});
  EXPECT_TRUE(handle.WaitFor(std::chrono::seconds(10)));
  EXPECT_TRUE(handle.Done());
  EXPECT_EQ(a[1], 4);
  EXPECT_EQ(b[2], 6);
}

TEST_F(CppTest, AResultMayGoElsewhere) {
  const reigen::Context job;
  const std::vector<double> input = {1, 2};
  std::vector<double> output(2);
  reigen::Allreduce(reigen::FromTo(std::span(input), std::span(output)), {.postscale = 0.5});
  EXPECT_EQ(output[1], 1.0);
  reigen::Broadcast(reigen::InPlace(output), 0, "b");
  reigen::Barrier();
  EXPECT_THROW(reigen::FromTo(std::span(input), std::span(output).first(1)), reigen::Error);
}

TEST_F(CppTest, AFailureIsAnErrorWithStatusAndText) {
  const reigen::Context job;
  bool flag = true;
  try {
    reigen::Allreduce(reigen::Tensor(&flag, &flag, REIGEN_BOOL, {}), {.name = "flag"});
    FAIL();
  } catch (const reigen::Error& error) {
    EXPECT_EQ(error.status(), REIGEN_INVALID_ARGUMENT);
    EXPECT_NE(std::string(error.what()).find("allreduce.flag: average of bool"),
              std::string::npos);
  }
}

TEST_F(CppTest, SharedArraysAreZeroedAndOutliveTheContext) {
  std::optional<reigen::SharedArray<float>> array;
  {
    const reigen::Context job;
    array.emplace(1000);
    EXPECT_EQ((*array)[999], 0.0f);
    reigen::Allreduce(reigen::InPlace(*array).Named("array"));
  }
  (*array)[0] = 1.0f;
  EXPECT_THROW(reigen::SharedArray<float>(1), reigen::Error);
}

}  // namespace
