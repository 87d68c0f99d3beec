// Goal: workers, guards and the coordinator run jobs to a good end, and to a bad one
// with the right code and message, leaving no process.
// Method: the real programs on loopback; the test is the launcher, trainers are scripts
// that speak the local protocol.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "tests/worker/test_job.h"

namespace reigen::testing {
namespace {

using ::testing::HasSubstr;

TestJob::Outcome RunJob(int hosts, int slots, const std::string& mode) {
  TestJob job({.hosts = hosts, .slots = slots, .argv = {mode}});
  return job.Wait();
}

TEST(WorkerProcessTest, OneHostSums) {
  const auto outcome = RunJob(1, 4, "sum");
  EXPECT_TRUE(outcome.ended);
  EXPECT_EQ(outcome.verdict.code(), 0) << outcome.verdict.reason() << "\n" << outcome.log;
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(outcome.output.at(rank), "summed\n");
  EXPECT_FALSE(outcome.worker_lost[0]) << outcome.log;
}

TEST(WorkerProcessTest, ThreeHostsSum) {
  const auto outcome = RunJob(3, 2, "sum");
  EXPECT_TRUE(outcome.ended);
  EXPECT_EQ(outcome.verdict.code(), 0) << outcome.verdict.reason() << "\n" << outcome.log;
  for (int rank = 0; rank < 6; ++rank) EXPECT_EQ(outcome.output.at(rank), "summed\n");
}

TEST(WorkerProcessTest, ATinySumOnOneHostTakesWellUnderAMillisecond) {
  const auto outcome = RunJob(1, 4, "latency");
  EXPECT_EQ(outcome.verdict.code(), 0) << outcome.verdict.reason() << "\n" << outcome.log;
  RecordProperty("rank0", outcome.output.at(0));
  std::printf("%s", outcome.output.at(0).c_str());
}

TEST(WorkerProcessTest, AMismatchFailsOnAllRanksAndTheJobGoesOn) {
  for (int hosts : {1, 2}) {
    const auto outcome = RunJob(hosts, 2, "mismatch");
    EXPECT_EQ(outcome.verdict.code(), 0) << outcome.verdict.reason() << "\n" << outcome.log;
    for (const auto& [rank, output] : outcome.output) {
      EXPECT_THAT(output, HasSubstr("ranks disagree"));
      EXPECT_THAT(output, HasSubstr("[4]"));
      EXPECT_THAT(output, HasSubstr("[5]"));
    }
  }
}

TEST(WorkerProcessTest, AKilledTrainerEndsTheJobWithItsSignal) {
  const auto outcome = RunJob(2, 2, "killed");
  EXPECT_TRUE(outcome.ended);
  EXPECT_EQ(outcome.verdict.code(), 137);
  EXPECT_EQ(outcome.verdict.rank(), 1);
  EXPECT_LT(outcome.seconds, 10);
}

TEST(WorkerProcessTest, AnExitWithoutShutdownIsADeath) {
  const auto outcome = RunJob(1, 2, "exits");
  EXPECT_TRUE(outcome.ended);
  EXPECT_EQ(outcome.verdict.code(), 70) << outcome.verdict.reason();
}

TEST(WorkerProcessTest, ATrainerThatWritesNonsenseEndsTheJobByName) {
  const auto outcome = RunJob(1, 2, "bad_record");
  EXPECT_TRUE(outcome.ended);
  EXPECT_EQ(outcome.verdict.code(), 70);
  EXPECT_EQ(outcome.verdict.rank(), 1);
  EXPECT_THAT(outcome.verdict.reason(), HasSubstr("an unknown kind of record"));
}

TEST(WorkerProcessTest, ARankThatHasLeftIsNamedToTheOthers) {
  const auto outcome = RunJob(2, 2, "leaves");
  EXPECT_EQ(outcome.verdict.code(), 0) << outcome.verdict.reason() << "\n" << outcome.log;
  for (int rank : {0, 2, 3}) EXPECT_THAT(outcome.output.at(rank), HasSubstr("rank 1 has left"));
}

TEST(WorkerProcessTest, InitMayBeCalledAgain) {
  const auto outcome = RunJob(2, 2, "inits_twice");
  EXPECT_EQ(outcome.verdict.code(), 0) << outcome.verdict.reason() << "\n" << outcome.log;
  for (const auto& [rank, output] : outcome.output) EXPECT_EQ(output, "summed\nsummed\n");
}

TEST(WorkerProcessTest, ProgramsThatNeverInitEndWell) {
  const auto outcome = RunJob(2, 2, "never_inits");
  EXPECT_EQ(outcome.verdict.code(), 0) << outcome.verdict.reason() << "\n" << outcome.log;
}

TEST(WorkerProcessTest, AKilledWorkerIsALostHost) {
  TestJob job({.hosts = 2, .slots = 2, .argv = {"waits"}});
  ASSERT_TRUE(job.WaitForOutput("attached"));
  kill(job.worker_pid(1), SIGKILL);
  const auto outcome = job.Wait();
  EXPECT_TRUE(outcome.ended);
  EXPECT_EQ(outcome.verdict.code(), 71) << outcome.verdict.reason();
  EXPECT_TRUE(outcome.worker_lost[1]);
}

TEST(WorkerProcessTest, WorkersEndWhenTheCoordinatorIsGone) {
  TestJob job({.hosts = 2, .slots = 2, .argv = {"waits"}});
  ASSERT_TRUE(job.WaitForOutput("attached"));
  job.LoseCoordinator();
  const auto outcome = job.Wait();
  EXPECT_TRUE(outcome.ended);
  EXPECT_THAT(outcome.log, HasSubstr("the coordinator is lost"));
}

}  // namespace
}  // namespace reigen::testing
