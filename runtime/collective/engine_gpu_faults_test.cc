// Commands that fail, hang or are cancelled: every bucket ends, and then nothing writes.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "runtime/collective/engine.h"
#include "runtime/collective/testing/cluster.h"
#include "runtime/collective/testing/fake_gpus.h"
#include "runtime/collective/testing/job.h"

namespace reigen::collective {
namespace {

constexpr CollectiveId Sequence(uint64_t sequence) {
  return {.epoch = 1, .sequence = sequence, .stream = 1};
}

JobOptions Large(int hosts, uint64_t seed) {
  JobOptions options;
  options.hosts = hosts;
  options.ranks = 2;
  options.segment_bytes = 1024;
  options.counts = {2500, 3, 500};
  options.seed = seed;
  for (int h = 0; h < hosts; ++h) options.gpu_hosts.push_back(h);
  return options;
}

TEST(EngineGpuFaultsTest, AFailedCommandFailsItsBucketWithItsText) {
  FakeNetworkOf network({});
  JobOptions options = Large(1, 1);
  options.algorithm = Algorithm::kNone;
  Job job(options);
  Cluster cluster({.hosts = 1, .leaders = 2}, &network);
  cluster.gpus(0).FailAfter(1, Internal("rank 3: CUDA_ERROR_LAUNCH_FAILED"));
  for (uint64_t s = 1; s <= 3; ++s) cluster.engine(0).Start(job.BucketOf(0, Sequence(s), {s - 1}));
  ASSERT_TRUE(cluster.RunToTheEnd());
  int failed = 0;
  for (const Status& end : job.ends(0)) {
    if (end.ok()) continue;
    ++failed;
    EXPECT_EQ(end, Internal("rank 3: CUDA_ERROR_LAUNCH_FAILED"));
  }
  EXPECT_EQ(job.ends(0).size(), 3u);
  EXPECT_EQ(failed, 1);
}

// As the worker does: the bucket's failure ends the epoch on all hosts.
TEST(EngineGpuFaultsTest, ACommandThatFailsAtAnyMomentEndsEveryBucketAndNothingWritesAfterwards) {
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    FakeNetworkOf network({.seed = seed, .max_delay = milliseconds(1)});
    Job job(Large(3, seed));
    Cluster cluster({.hosts = 3, .seed = seed, .leaders = 2}, &network);
    cluster.gpus(1).FailAfter(random() % 60, Internal("a GPU's error"));
    for (int h = 0; h < 3; ++h) {
      for (uint64_t s = 1; s <= 3; ++s) cluster.engine(h).Start(job.BucketOf(h, Sequence(s), {s - 1}));
    }
    cluster.RunUntil([] { return false; }, milliseconds(200));
    for (int h = 0; h < 3; ++h) {
      cluster.engine(h).CancelAll(Aborted("the epoch has ended"));
      cluster.gpus(h).EndAll(Aborted("the epoch has ended"));
    }
    ASSERT_TRUE(cluster.RunToTheEnd(seconds(1)));
    const auto before = job.AllMemory();
    for (int h = 0; h < 3; ++h) cluster.CloseAllLinks(h);
    ASSERT_TRUE(cluster.RunUntil([&] {
      size_t out = 0;
      for (int h = 0; h < 3; ++h) out += cluster.engine(h).posts_out() + cluster.gpus(h).out();
      return out == 0;
    }));
    EXPECT_EQ(job.AllMemory(), before);
    for (int h = 0; h < 3; ++h) EXPECT_EQ(job.ends(h).size(), 3u);
  }
}

TEST(EngineGpuFaultsTest, ACancelledBucketEndsOnceItsCommandsHave) {
  FakeNetworkOf network({});
  Job job(Large(2, 1));
  Cluster cluster({.hosts = 2, .leaders = 2}, &network);
  for (int leader = 0; leader < 2; ++leader) cluster.gpus(0).Stop(leader);
  for (int h = 0; h < 2; ++h) cluster.engine(h).Start(job.BucketOfAll(h, Sequence(1)));
  EXPECT_FALSE(cluster.RunToTheEnd(seconds(1)));
  EXPECT_GT(cluster.gpus(0).out(), 0u);

  cluster.engine(0).CancelAll(Aborted("stop"));
  const uint64_t submitted = cluster.gpus(0).submitted();
  EXPECT_FALSE(cluster.RunUntil([&] { return !job.ends(0).empty(); }, seconds(1)));
  EXPECT_EQ(cluster.gpus(0).submitted(), submitted) << "nothing new begins after a cancel";

  cluster.gpus(0).EndAll(Unavailable("the session ended"));
  ASSERT_TRUE(cluster.RunUntil([&] { return !job.ends(0).empty(); }, seconds(1)));
  EXPECT_EQ(job.ends(0)[0], Aborted("stop")) << "the first error counts";
}

TEST(EngineGpuFaultsTest, OfATasksCommandsTheFirstErrorCountsAndAllAreWaitedFor) {
  JobOptions options = Large(1, 1);
  options.algorithm = Algorithm::kNone;
  options.counts.assign(3 * Gpus::kMaxItems, 2);
  FakeNetworkOf network({});
  Job job(options);
  Cluster cluster({.hosts = 1, .leaders = 1}, &network);
  cluster.gpus(0).FailAfter(1, Internal("the second"));
  cluster.engine(0).Start(job.BucketOfAll(0, Sequence(1)));
  cluster.engine(0).Progress(network.now());
  EXPECT_EQ(cluster.gpus(0).out(), 3u);
  while (cluster.gpus(0).out() > 1) cluster.gpus(0).Turn();
  cluster.engine(0).Progress(network.now());
  EXPECT_TRUE(job.ends(0).empty());
  cluster.gpus(0).EndAll(Aborted("the third"));
  cluster.engine(0).Progress(network.now());
  ASSERT_EQ(job.ends(0).size(), 1u);
  EXPECT_EQ(job.ends(0)[0], Internal("the second"));
}

TEST(EngineGpuFaultsDeathTest, AnEngineIsNotDestroyedBeforeItsCommandsHaveEnded) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  FakeGpus gpus({.leaders = 1});  // a bucket of one host needs no scratch
  auto executor = MakeInlineExecutor();
  JobOptions options = Large(1, 1);
  options.algorithm = Algorithm::kNone;
  Job job(options);
  const auto make_and_destroy = [&] {
    auto engine = MakeEngine({.scratch = {}, .gpus = &gpus}, [](int) { return nullptr; }, executor.get());
    engine->Start(job.BucketOfAll(0, Sequence(1)));
    engine->Progress(Time{});
    engine.reset();
  };
  EXPECT_DEATH(make_and_destroy(), "ends their commands first");
}

}  // namespace
}  // namespace reigen::collective
