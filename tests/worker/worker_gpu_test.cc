// Goal: jobs whose tensors are on GPUs sum right, on the GPUs where these can and by the
// CPU where not; a trainer that fails its commands ends the job with the right cause.
// Method: the real programs on loopback, so that scratch is staged; trainers are scripts
// whose GPU is shared memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/worker/test_job.h"

namespace reigen::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TestJob::Outcome RunJob(int hosts, const std::string& mode, const std::string& gpu_direct = "auto",
                        double timeout_scale = 1) {
  TestJob job({.hosts = hosts,
               .slots = 2,
               .argv = {mode},
               .gpu_direct = gpu_direct,
               .timeout_scale = timeout_scale});
  return job.Wait(seconds(90));
}

void ExpectSummed(const TestJob::Outcome& outcome, int ranks, const std::string& how) {
  EXPECT_TRUE(outcome.ended);
  EXPECT_EQ(outcome.verdict.code(), 0) << outcome.verdict.reason() << "\n" << outcome.log;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto output = outcome.output.find(rank);
    ASSERT_NE(output, outcome.output.end());
    EXPECT_THAT(output->second, HasSubstr(how)) << "rank " << rank << "\n" << outcome.log;
  }
}

TEST(WorkerGpuTest, OneHostSumsOnItsGpus) {
  const auto outcome = RunJob(1, "gpu_sum");
  ExpectSummed(outcome, 2, "summed, on GPUs, 0 mirrored\n");
  EXPECT_THAT(outcome.log,
              HasSubstr("rank=1 gpu=0000:ff:1f.7 gpu-direct: not needed (one host)"));
}

TEST(WorkerGpuTest, TwoHostsSumOnTheirGpusAndSayWhyTheyAreStaged) {
  const auto outcome = RunJob(2, "gpu_sum");
  ExpectSummed(outcome, 4, "summed, on GPUs, 0 mirrored\n");
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(outcome.log, HasSubstr("rank=" + std::to_string(rank) +
                                       " gpu=0000:ff:1f.7 gpu-direct: staged ("));
  }
}

TEST(WorkerGpuTest, ANewEpochHasNewArenasAndANewScratch) {
  const auto outcome = RunJob(2, "gpu_twice");
  const std::string once = "summed, on GPUs, 0 mirrored\n";
  ExpectSummed(outcome, 4, once + once);
}

TEST(WorkerGpuTest, MixedPayloadsAreMirrored) {
  const auto outcome = RunJob(2, "gpu_mixed");
  ExpectSummed(outcome, 4, "summed");
  EXPECT_EQ(outcome.output.at(0), "summed, by the CPU, 6 mirrored\n");
  EXPECT_EQ(outcome.output.at(1), "summed, by the CPU, 0 mirrored\n");
  EXPECT_EQ(outcome.output.at(2), "summed, on GPUs, 0 mirrored\n") << "the other host as it can";
}

TEST(WorkerGpuTest, WhereMemoryCannotBeOpenedTheCpuSums) {
  const auto outcome = RunJob(1, "gpu_closed");
  ExpectSummed(outcome, 2, "summed, by the CPU, 6 mirrored, not used: rank 1's GPU cannot");
  EXPECT_THAT(outcome.output.at(0), HasSubstr("no peer?access")) << "made printable";
}

TEST(WorkerGpuTest, WhereTheScratchCannotBeMappedTheCpuSums) {
  const auto outcome = RunJob(2, "gpu_unmapped");
  ExpectSummed(outcome, 4, "summed");
  EXPECT_THAT(outcome.output.at(0), HasSubstr("by the CPU, 6 mirrored, not used: rank 1 cannot map"));
  EXPECT_THAT(outcome.output.at(3), HasSubstr("on GPUs, 0 mirrored"));
}

TEST(WorkerGpuTest, OffMeansThatNoDeviceArenaIsTaken) {
  const auto outcome = RunJob(1, "gpu_sum", "off");
  EXPECT_NE(outcome.verdict.code(), 0);
  EXPECT_THAT(outcome.verdict.reason(), HasSubstr("which is not taken here"));
}

TEST(WorkerGpuTest, RequireEndsTheJobWithTheReason) {
  const auto outcome = RunJob(2, "gpu_sum", "require");
  EXPECT_TRUE(outcome.ended);
  EXPECT_EQ(outcome.verdict.code(), 71);
  EXPECT_THAT(outcome.verdict.reason(), HasSubstr("gpu-direct: staged ("));
  EXPECT_THAT(outcome.verdict.reason(), HasSubstr("--gpu-direct is require"));
}

// There it waits longer for room on its GPU.
TEST(WorkerGpuTest, TrainersAreToldOfRequireWhereItCanEndTheJob) {
  const auto alone = RunJob(1, "gpu_sum", "require");
  ExpectSummed(alone, 2, "summed, on GPUs, 0 mirrored\n");
  EXPECT_THAT(alone.output.at(0), Not(HasSubstr("told of require")));
  const auto two = RunJob(2, "gpu_sum", "require");
  EXPECT_TRUE(two.ended);
  for (int rank = 0; rank < 4; ++rank) {
    const auto output = two.output.find(rank);
    ASSERT_NE(output, two.output.end()) << two.log;
    EXPECT_THAT(output->second, HasSubstr("told of require"));
  }
}

TEST(WorkerGpuTest, ATrainerThatDiesWithCommandsOutEndsTheJobWithItsSignal) {
  for (int hosts : {1, 2}) {
    const auto outcome = RunJob(hosts, "gpu_dies");
    EXPECT_TRUE(outcome.ended);
    EXPECT_EQ(outcome.verdict.code(), 137) << outcome.verdict.reason() << "\n" << outcome.log;
    EXPECT_EQ(outcome.verdict.rank(), 1);
    EXPECT_FALSE(outcome.worker_lost[0]) << outcome.log;
  }
}

TEST(WorkerGpuTest, ATrainerThatAnswersNonsenseEndsTheJobByName) {
  const auto outcome = RunJob(1, "gpu_nonsense");
  EXPECT_TRUE(outcome.ended);
  EXPECT_EQ(outcome.verdict.code(), 70) << outcome.verdict.reason() << "\n" << outcome.log;
  EXPECT_EQ(outcome.verdict.rank(), 1);
  EXPECT_THAT(outcome.verdict.reason(), HasSubstr("which is not the oldest one"));
}

TEST(WorkerGpuTest, ATrainerThatAnswersNoCommandIsNamedAfterTheLimit) {
  const auto outcome = RunJob(1, "gpu_silent", "auto", 0.01);
  EXPECT_TRUE(outcome.ended);
  EXPECT_EQ(outcome.verdict.code(), 71) << outcome.log;
  EXPECT_THAT(outcome.verdict.reason(), HasSubstr("rank 1 has answered no GPU command for"));
  EXPECT_THAT(outcome.log, HasSubstr("rank=1 has answered no GPU command for"));
}

}  // namespace
}  // namespace reigen::testing
