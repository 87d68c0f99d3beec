#include "runtime/collective/engine.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "runtime/collective/testing/cluster.h"
#include "runtime/collective/testing/job.h"

namespace reigen::collective {
namespace {

constexpr ReduceOp kOps[] = {ReduceOp::kAverage, ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax,
                             ReduceOp::kProduct};

std::string RunOnFake(const ClusterOptions& cluster_options, const JobOptions& job_options) {
  FakeNetworkOf network({});
  Job job(job_options);
  Cluster cluster(cluster_options, &network);
  return RunAndCheck(cluster, job);
}

// Fused. The large one once per number of hosts: the reference is slow.
std::vector<uint64_t> Counts(DataType dtype, int ranks) {
  const uint64_t large_bytes = ranks == 1 ? 64 << 10 : 2 << 10;
  return {0, 1, 7, ranks == 2 ? 1023u : 100u, large_bytes / ElementBytes(dtype) + 3};
}

class AllreduceTest : public testing::TestWithParam<std::tuple<int, Algorithm, int, int>> {
 protected:
  JobOptions Options(ReduceOp op) const {
    const auto [dtype, algorithm, hosts, ranks] = GetParam();
    JobOptions options;
    options.algorithm = algorithm;
    options.op = op;
    options.dtype = options.wire = static_cast<DataType>(dtype);
    options.hosts = hosts;
    options.ranks = ranks;
    options.counts = Counts(options.dtype, ranks);
    return options;
  }
};

TEST_P(AllreduceTest, MatchesTheReference) {
  for (const ReduceOp op : kOps) {
    JobOptions options = Options(op);
    if (options.dtype == DataType::kBool && op == ReduceOp::kAverage) continue;
    if (IsHalf(options.dtype) && op == ReduceOp::kAverage) options.wire = DataType::kFloat32;
    EXPECT_EQ(RunOnFake({.hosts = options.hosts}, options), "") << Name(op);
  }
}

std::string NameOfCase(const testing::TestParamInfo<AllreduceTest::ParamType>& info) {
  const auto [dtype, algorithm, hosts, ranks] = info.param;
  return std::string(Name(static_cast<DataType>(dtype))) +
         (algorithm == Algorithm::kRing ? "_ring" : "_doubling") + "_hosts" +
         std::to_string(hosts) + "_ranks" + std::to_string(ranks);
}

INSTANTIATE_TEST_SUITE_P(
    All, AllreduceTest,
    testing::Combine(testing::Range(0, kDataTypeCount),
                     testing::Values(Algorithm::kRing, Algorithm::kRecursiveDoubling),
                     testing::Values(1, 2, 3, 4, 5, 8), testing::Values(1, 2, 3)),
    NameOfCase);

TEST(EngineTest, ScaledSumsOfHalvesTravelAsFloat32) {
  for (const DataType dtype : {DataType::kFloat16, DataType::kBFloat16}) {
    for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kRecursiveDoubling}) {
      JobOptions options{.algorithm = algorithm, .dtype = dtype, .wire = DataType::kFloat32};
      options.prescale = 0.5;
      options.postscale = 3;
      options.hosts = 3;
      options.ranks = 2;
      options.counts = {5000, 3};
      EXPECT_EQ(RunOnFake({.hosts = 3}, options), "");
    }
  }
}

TEST(EngineTest, NanAndInfinityComeOutTheSameWhateverRankHeldThem) {
  for (const DataType dtype : {DataType::kFloat16, DataType::kFloat32, DataType::kFloat64}) {
    for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kRecursiveDoubling}) {
      for (const ReduceOp op : kOps) {
        JobOptions options{.algorithm = algorithm, .op = op, .dtype = dtype, .wire = dtype};
        options.hosts = 3;
        options.ranks = 2;
        options.counts = {4000};
        options.data = reduce::Data::kCorners;
        EXPECT_EQ(RunOnFake({.hosts = 3}, options), "") << Name(op);
      }
    }
  }
}

TEST(EngineTest, HostsWithoutContributorsPassPartialSumsOn) {
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct}) {
    for (int type = 0; type < kDataTypeCount; ++type) {
      for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kRecursiveDoubling}) {
        JobOptions options{.algorithm = algorithm, .op = op};
        options.dtype = options.wire = static_cast<DataType>(type);
        options.hosts = 5;
        options.counts = {300};
        options.data = reduce::Data::kCorners;
        options.idle_hosts = {0, 2, 3};
        EXPECT_EQ(RunOnFake({.hosts = 5}, options), "") << Name(op) << " " << Name(options.dtype);
      }
    }
  }
}

TEST(EngineTest, BroadcastBringsTheRootsTensorToEveryRank) {
  for (const Algorithm algorithm : {Algorithm::kChainBroadcast, Algorithm::kTreeBroadcast}) {
    for (const int hosts : {1, 2, 3, 4, 5, 8}) {
      for (int root = 0; root < hosts; ++root) {
        JobOptions options{.kind = CollectiveKind::kBroadcast, .algorithm = algorithm};
        options.hosts = hosts;
        options.ranks = 3;
        options.root = root;
        options.counts = {0, 1, 7, 1023, 16387};
        EXPECT_EQ(RunOnFake({.hosts = hosts}, options), "") << hosts << " hosts, root " << root;
      }
    }
  }
}

TEST(EngineTest, LargeTensorsOfOneHostAreReducedOnThePool) {
  JobOptions options{.algorithm = Algorithm::kNone};
  options.hosts = 1;
  options.ranks = 4;
  options.counts = {1 << 20, 5, 700000};
  EXPECT_EQ(RunOnFake({.hosts = 1, .pool_threads = 2}, options), "");
}

TEST(EngineTest, LargeTensorsOfManyHostsAreReducedOnThePool) {
  JobOptions options;
  options.hosts = 3;
  options.ranks = 2;
  options.counts = {1 << 18, 5, 70001};
  options.segment_bytes = 128 << 10;
  ClusterOptions cluster{.hosts = 3, .scratch_bytes = 4 << 20, .segment_bytes = 128 << 10};
  cluster.pool_threads = 2;
  EXPECT_EQ(RunOnFake(cluster, options), "");
}

TEST(EngineTest, ABarrierEndsAtOnceAndNeedsNoStream) {
  FakeNetworkOf network({});
  Cluster cluster({.hosts = 2}, &network);
  bool ended = false;
  Bucket barrier;
  barrier.id = {.epoch = 1, .sequence = 1, .stream = 99};
  barrier.kind = CollectiveKind::kBarrier;
  barrier.hosts = {0, 1};
  barrier.done = [&](const Status& status) { ended = status.ok(); };
  cluster.engine(0).Start(std::move(barrier));
  EXPECT_FALSE(ended) << "done is called from Progress()";
  cluster.engine(0).Progress(network.now());
  EXPECT_TRUE(ended);
}

TEST(EngineTest, APlanThatDoesNotFitItsStreamFailsAlone) {
  FakeNetworkOf network({});
  JobOptions options;
  options.counts = {100000};
  options.segment_bytes = 1 << 20;
  Job job(options);
  Cluster cluster({.hosts = 1, .segment_bytes = 4096}, &network);
  cluster.engine(0).Start(job.BucketOfAll(0, {.epoch = 1, .sequence = 1, .stream = 1}));
  cluster.engine(0).Start(job.BucketOfAll(0, {.epoch = 1, .sequence = 1, .stream = 7}));
  ASSERT_TRUE(cluster.RunToTheEnd());
  ASSERT_EQ(job.ends(0).size(), 2u);
  EXPECT_EQ(job.ends(0)[0].code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(job.ends(0)[1].code(), StatusCode::kFailedPrecondition);
}

TEST(EngineTest, DoneMayStartTheNextBucket) {
  FakeNetworkOf network({});
  JobOptions options;
  options.counts = {3000};
  Job first(options);
  Job second(options);
  Cluster cluster({.hosts = 2}, &network);
  for (int h = 0; h < 2; ++h) {
    Bucket bucket = first.BucketOfAll(h, {.epoch = 1, .sequence = 1, .stream = 1});
    bucket.done = [&, h](const Status& status) {
      EXPECT_TRUE(status.ok());
      cluster.engine(h).Start(second.BucketOfAll(h, {.epoch = 1, .sequence = 2, .stream = 1}));
    };
    cluster.engine(h).Start(std::move(bucket));
  }
  ASSERT_TRUE(cluster.RunToTheEnd());
  EXPECT_EQ(first.Check(), "");
  EXPECT_EQ(second.Check(), "");
}

}  // namespace
}  // namespace reigen::collective
