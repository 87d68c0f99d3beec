// What dies, disagrees or is cancelled: every bucket ends, and then nothing writes.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "runtime/collective/engine.h"
#include "runtime/collective/testing/cluster.h"
#include "runtime/collective/testing/job.h"

namespace reigen::collective {
namespace {

JobOptions Large(int hosts, uint64_t seed) {
  JobOptions options;
  options.hosts = hosts;
  options.ranks = 2;
  options.segment_bytes = 1024;
  options.counts = {2500, 3, 500};
  options.seed = seed;
  return options;
}

constexpr CollectiveId Sequence(uint64_t sequence) {
  return {.epoch = 1, .sequence = sequence, .stream = 1};
}

TEST(EngineFaultsTest, ALinkThatDiesAtAnyMomentEndsEveryBucketAndNothingWritesAfterwards) {
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    transport::FakeOptions fake{.seed = seed};
    fake.max_delay = milliseconds(2);
    FakeNetworkOf network(fake);
    Job job(Large(4, seed));
    Cluster cluster({.hosts = 4, .seed = seed}, &network);
    const int victim = static_cast<int>(random() % 4);
    network.fake().KillLinkAfterFrames(victim, (victim + 1) % 4, random() % 150);
    for (int h = 0; h < 4; ++h) {
      for (uint64_t s = 1; s <= 3; ++s) cluster.engine(h).Start(job.BucketOf(h, Sequence(s), {s - 1}));
    }
    // The two ends see it; the others wait, until the epoch ends.
    cluster.RunUntil([] { return false; }, seconds(2));
    for (int h = 0; h < 4; ++h) {
      cluster.engine(h).CancelAll(Aborted("the epoch has ended"));
      cluster.Turn();
    }
    ASSERT_TRUE(cluster.RunToTheEnd(seconds(1)));
    const auto before = job.AllMemory();
    for (int h = 0; h < 4; ++h) cluster.CloseAllLinks(h);
    ASSERT_TRUE(cluster.RunUntil([&] {
      size_t out = 0;
      for (int h = 0; h < 4; ++h) out += cluster.engine(h).posts_out();
      return out == 0;
    }));
    EXPECT_EQ(job.AllMemory(), before);
    for (int h = 0; h < 4; ++h) EXPECT_EQ(job.ends(h).size(), 3u);
  }
}

TEST(EngineFaultsTest, ALostLinkIsUnavailableAndNamesThePeer) {
  FakeNetworkOf network({});
  Job job(Large(3, 1));
  Cluster cluster({.hosts = 3}, &network);
  network.fake().KillLinkAfterFrames(1, 2, 3);
  for (int h = 0; h < 3; ++h) cluster.engine(h).Start(job.BucketOfAll(h, Sequence(1)));
  ASSERT_TRUE(cluster.RunUntil([&] { return !job.ends(1).empty() && !job.ends(2).empty(); }));
  EXPECT_EQ(job.ends(1)[0].code(), StatusCode::kUnavailable);
  EXPECT_NE(Message(job.ends(1)[0]).find("host 2"), std::string::npos) << job.ends(1)[0];
  EXPECT_NE(Message(job.ends(2)[0]).find("host 1"), std::string::npos) << job.ends(2)[0];
}

TEST(EngineFaultsTest, PlansThatDifferFailOnBothHosts) {
  FakeNetworkOf network({});
  JobOptions options = Large(2, 1);
  options.counts = {2500};
  Job job(options);
  Cluster cluster({.hosts = 2}, &network);
  options.counts = {2400};
  Job other(options);
  cluster.engine(0).Start(job.BucketOfAll(0, Sequence(1)));
  cluster.engine(1).Start(other.BucketOfAll(1, Sequence(1)));
  ASSERT_TRUE(cluster.RunUntil([&] { return !job.ends(0).empty() && !other.ends(1).empty(); }));
  EXPECT_EQ(job.ends(0)[0].code(), StatusCode::kFailedPrecondition) << job.ends(0)[0];
  EXPECT_EQ(other.ends(1)[0].code(), StatusCode::kFailedPrecondition) << other.ends(1)[0];
}

TEST(EngineFaultsTest, AHostWithoutALinkFailsTheBucketAtOnce) {
  auto executor = MakeInlineExecutor();
  std::vector<std::byte> scratch(1 << 16);
  auto engine = MakeEngine({.scratch = scratch}, [](int) { return nullptr; }, executor.get());
  ASSERT_TRUE(engine->OpenStream(1, 4096, 2).ok());
  Job job(Large(2, 1));
  engine->Start(job.BucketOfAll(0, Sequence(1)));
  engine->Progress(Time{});
  ASSERT_EQ(job.ends(0).size(), 1u);
  EXPECT_EQ(job.ends(0)[0].code(), StatusCode::kUnavailable);
}

TEST(EngineFaultsTest, CancelAllNeedsNoPeer) {
  FakeNetworkOf network({});
  Job job(Large(2, 1));
  Cluster cluster({.hosts = 2}, &network);
  for (uint64_t s = 1; s <= 3; ++s) cluster.engine(0).Start(job.BucketOf(0, Sequence(s), {s - 1}));
  cluster.engine(0).Progress(network.now());
  EXPECT_GT(cluster.engine(0).posts_out(), 0u);
  cluster.engine(0).CancelAll(Aborted("stop"));
  EXPECT_TRUE(job.ends(0).empty()) << "done is called from Progress()";
  cluster.engine(0).Progress(network.now());
  ASSERT_EQ(job.ends(0).size(), 3u);
  EXPECT_EQ(job.ends(0)[0].code(), StatusCode::kAborted);
  EXPECT_EQ(cluster.engine(0).unfinished(), 0u);
}

TEST(EngineFaultsTest, HostsMayStartTheSameBucketsAtAnyTime) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 random(seed);
    FakeNetworkOf network({.seed = seed, .max_delay = milliseconds(1)});
    Job job(Large(3, seed));
    Cluster cluster({.hosts = 3, .seed = seed}, &network);
    std::vector<uint64_t> next(3, 1);
    while (next[0] + next[1] + next[2] < 12) {
      const int h = static_cast<int>(random() % 3);
      if (next[h] > 3) continue;
      cluster.engine(h).Start(job.BucketOf(h, Sequence(next[h]), {next[h] - 1}));
      ++next[h];
      for (uint64_t turns = random() % 20; turns > 0; --turns) {
        cluster.Turn();
        network.Wait();
      }
    }
    ASSERT_TRUE(cluster.RunToTheEnd()) << "seed " << seed;
    EXPECT_EQ(job.Check(), "") << "seed " << seed;
  }
}

// Each stream's window holds two segments and there is no surplus; hosts start the
// streams' buckets in different orders.
TEST(EngineFaultsTest, ScratchAtItsMinimumNeverDeadlocks) {
  constexpr int kStreams = 3;
  constexpr uint64_t kBuckets = 4;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    const int hosts = static_cast<int>(random() % 4 + 2);
    FakeNetworkOf network({.seed = seed, .max_delay = milliseconds(1)});
    JobOptions options = Large(hosts, seed);
    options.algorithm = seed % 2 == 0 ? Algorithm::kRing : Algorithm::kRecursiveDoubling;
    options.segment_bytes = 256;
    options.channels = 4;  // wants more than there is
    options.counts.assign(kStreams * kBuckets, 300);
    Job job(options);
    Cluster cluster({.hosts = hosts,
                     .scratch_bytes = kStreams * 2 * (256 + 64),
                     .segment_bytes = 256,
                     .channels = 1,
                     .streams = kStreams,
                     .seed = seed},
                    &network);
    StartInRandomOrders(cluster, job, kStreams, kBuckets, random);
    ASSERT_TRUE(cluster.RunToTheEnd()) << "seed " << seed;
    EXPECT_EQ(job.Check(), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace reigen::collective
