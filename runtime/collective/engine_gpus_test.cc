// Buckets whose memory work is the GPUs': bits, order, room, refusals. tests/conformance has
// the matrix of types and operators.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "runtime/collective/engine.h"
#include "runtime/collective/testing/cluster.h"
#include "runtime/collective/testing/fake_gpus.h"
#include "runtime/collective/testing/job.h"

namespace reigen::collective {
namespace {

constexpr CollectiveId Sequence(uint64_t sequence, uint32_t stream = 1) {
  return {.epoch = 1, .sequence = sequence, .stream = stream};
}

std::vector<int> All(int hosts) {
  std::vector<int> all;
  for (int h = 0; h < hosts; ++h) all.push_back(h);
  return all;
}

JobOptions Large(int hosts, uint64_t seed) {
  JobOptions options;
  options.hosts = hosts;
  options.ranks = 2;
  options.segment_bytes = 1024;
  options.counts = {2500, 3, 500};
  options.seed = seed;
  options.gpu_hosts = All(hosts);
  return options;
}

TEST(EngineGpusTest, GpusAndProcessorsGiveTheSameBitsHoweverCommandsAreDelayed) {
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kRecursiveDoubling}) {
    JobOptions options{.algorithm = algorithm, .dtype = DataType::kBFloat16};
    options.hosts = 3;
    options.ranks = 2;
    options.counts = {1, 1000, 4096, 0, 777, 31};
    std::vector<std::vector<std::byte>> expected;
    for (uint64_t seed = 0; seed <= 20; ++seed) {
      for (int h = 0; h < 3; ++h) {
        if (seed >> h & 1) options.gpu_hosts.push_back(h);
      }
      if (seed > 7) options.gpu_hosts = All(3);
      FakeNetworkOf network({.seed = seed, .max_delay = milliseconds(seed % 3)});
      Job job(options);
      Cluster cluster({.hosts = 3,
                       .seed = seed,
                       .leaders = static_cast<int>(seed % 3) + 1,
                       .one_scratch = seed % 2 == 0},
                      &network);
      ASSERT_EQ(RunAndCheck(cluster, job, seed), "") << "seed " << seed;
      if (expected.empty()) expected = job.Results();
      EXPECT_EQ(job.Results(), expected) << "seed " << seed;
      options.gpu_hosts.clear();
    }
  }
}

TEST(EngineGpusTest, ABucketOfOneHostGoesRoundTheLeaders) {
  JobOptions options{.algorithm = Algorithm::kNone};
  options.hosts = 1;
  options.ranks = 3;
  options.counts = {1 << 20, 5, 300000};
  options.gpu_hosts = {0};
  FakeNetworkOf network({});
  Job job(options);
  Cluster cluster({.hosts = 1, .leaders = 3}, &network);
  cluster.gpus(0).Stop(1);
  cluster.engine(0).Start(job.BucketOfAll(0, Sequence(1)));
  EXPECT_FALSE(cluster.RunUntil([&] { return !job.ends(0).empty(); }, seconds(5)));
  EXPECT_EQ(cluster.gpus(0).out(), 1u);
  EXPECT_EQ(cluster.gpus(0).submitted(), 3u);
}

TEST(EngineGpusTest, SmallTensorsOfOneHostAreOneCommand) {
  JobOptions options{.algorithm = Algorithm::kNone};
  options.hosts = 1;
  options.ranks = 2;
  options.counts.assign(200, 10);
  options.gpu_hosts = {0};
  FakeNetworkOf network({});
  Job job(options);
  Cluster cluster({.hosts = 1, .leaders = 3}, &network);
  EXPECT_EQ(RunAndCheck(cluster, job), "");
  EXPECT_EQ(cluster.gpus(0).submitted(), 1u);
}

// The windows hold two segments and there is no surplus; hosts start the streams' buckets in
// different orders, some work on GPUs and some do not.
TEST(EngineGpusTest, ScratchAtItsMinimumNeverDeadlocks) {
  constexpr int kStreams = 3;
  constexpr uint64_t kBuckets = 3;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    const int hosts = static_cast<int>(random() % 3 + 2);
    FakeNetworkOf network({.seed = seed, .max_delay = milliseconds(1)});
    JobOptions options = Large(hosts, seed);
    options.algorithm = seed % 2 == 0 ? Algorithm::kRing : Algorithm::kRecursiveDoubling;
    options.segment_bytes = 256;
    options.channels = 4;  // wants more than there is
    options.counts.assign(kStreams * kBuckets, 300);
    std::erase_if(options.gpu_hosts, [&](int) { return random() % 3 == 0; });
    Job job(options);
    Cluster cluster({.hosts = hosts,
                     .scratch_bytes = kStreams * 2 * (256 + 64),
                     .segment_bytes = 256,
                     .channels = 1,
                     .streams = kStreams,
                     .seed = seed,
                     .leaders = static_cast<int>(random() % 3 + 1),
                     .one_scratch = random() % 2 == 0},
                    &network);
    StartInRandomOrders(cluster, job, kStreams, kBuckets, random);
    ASSERT_TRUE(cluster.RunToTheEnd()) << "seed " << seed;
    EXPECT_EQ(job.Check(), "") << "seed " << seed;
  }
}

// All surplus of leader 0 is lent out: a bucket that is not the oldest of its stream goes on
// with leader 1's alone.
TEST(EngineGpusTest, ALeaderWithoutRoomDoesNotHoldUpTheOthers) {
  FakeNetworkOf network({});
  Job job(Large(2, 1));
  Job blocked(Large(2, 2));
  Cluster cluster({.hosts = 2, .segment_bytes = 1024, .channels = 1, .leaders = 2}, &network);
  for (int h = 0; h < 2; ++h) {
    Scratch& scratch = cluster.gpus(h).scratch(0);
    while (scratch.TakeSurplus(1024) != nullptr) {
    }
  }
  cluster.engine(0).Start(blocked.BucketOf(0, Sequence(1), {0}));  // waits for host 1
  for (int h = 0; h < 2; ++h) cluster.engine(h).Start(job.BucketOf(h, Sequence(2), {0}));
  ASSERT_TRUE(cluster.RunUntil([&] { return !job.ends(0).empty() && !job.ends(1).empty(); }));
  EXPECT_TRUE(job.ends(0)[0].ok() && job.ends(1)[0].ok());
  EXPECT_TRUE(blocked.ends(0).empty());
  cluster.engine(1).Start(blocked.BucketOf(1, Sequence(1), {0}));
  ASSERT_TRUE(cluster.RunToTheEnd());
  EXPECT_TRUE(blocked.ends(0)[0].ok() && blocked.ends(1)[0].ok());
}

std::string RefusalOf(const JobOptions& options, const ClusterOptions& cluster_options, uint32_t stream) {
  FakeNetworkOf network({});
  Job job(options);
  Cluster cluster(cluster_options, &network);
  cluster.engine(0).Start(job.BucketOf(0, Sequence(1, stream), {0}));
  cluster.Turn();
  if (job.ends(0).size() != 1) return "not ended";
  if (job.ends(0)[0].code() != StatusCode::kFailedPrecondition) return "another code";
  return std::string(Message(job.ends(0)[0]));
}

TEST(EngineGpusTest, WhatGpusCannotDoIsRefusedWithTheReason) {
  const ClusterOptions two{.hosts = 2, .leaders = 1};
  EXPECT_EQ(RefusalOf(Large(2, 1), {.hosts = 2}, 1), "plan: on GPUs, but none here takes commands");
  JobOptions many = Large(2, 1);
  many.ranks = 17;
  EXPECT_EQ(RefusalOf(many, two, 1), "plan: on GPUs, which add up to 16 tensors, not 17");
  JobOptions idle = Large(2, 1);
  idle.idle_hosts = {0};
  EXPECT_EQ(RefusalOf(idle, two, 1), "plan: on GPUs, but no rank here contributes");
  EXPECT_EQ(RefusalOf(Large(2, 1), two, 7),
            "plan: segments of 1024 bytes; the scratch window of stream 7 has 0");
}

TEST(EngineGpusTest, SixteenRanksOfAHostAreNotTooMany) {
  JobOptions options = Large(2, 1);
  options.ranks = 16;
  options.counts = {100, 3};
  FakeNetworkOf network({});
  Job job(options);
  Cluster cluster({.hosts = 2, .leaders = 2}, &network);
  EXPECT_EQ(RunAndCheck(cluster, job), "");
}

}  // namespace
}  // namespace reigen::collective
