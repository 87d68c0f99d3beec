// The same tensors give the same bits, however they are fused, cut and delayed.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "runtime/collective/engine.h"
#include "runtime/collective/testing/cluster.h"
#include "runtime/collective/testing/job.h"

namespace reigen::collective {
namespace {

constexpr int kHosts = 3;
using Groups = std::vector<std::vector<size_t>>;
using Bits = std::vector<std::vector<std::byte>>;

struct Way {  // of running the same job
  uint64_t segment_bytes = 4096;
  int channels = 2;
  transport::FakeOptions network = {};
  uint64_t turns = 0;  // seed of the hosts' turns
  Groups groups = {};
};

JobOptions Tensors(Algorithm algorithm, DataType dtype, DataType wire) {
  JobOptions options{.algorithm = algorithm, .dtype = dtype, .wire = wire};
  options.hosts = kHosts;
  options.ranks = 2;
  options.counts = {1, 2, 3, 100, 1000, 1023, 4096, 5, 0, 777, 2048, 31};
  options.seed = 42;
  return options;
}

Groups OneByOne(size_t tensors) {
  Groups groups = {};
  for (size_t t = 0; t < tensors; ++t) groups.push_back({t});
  return groups;
}

Groups RandomGroups(size_t tensors, std::mt19937_64& random) {
  std::vector<size_t> order(tensors);
  for (size_t t = 0; t < tensors; ++t) order[t] = t;
  std::shuffle(order.begin(), order.end(), random);
  Groups groups(1);
  for (const size_t t : order) {
    if (!groups.back().empty() && random() % 3 == 0) groups.emplace_back();
    groups.back().push_back(t);
  }
  return groups;
}

Bits RunOneWay(JobOptions options, const Way& way) {
  options.segment_bytes = way.segment_bytes;
  options.channels = way.channels;
  FakeNetworkOf network(way.network);
  Job job(options);
  Cluster cluster({.hosts = kHosts,
                   .segment_bytes = way.segment_bytes,
                   .channels = way.channels,
                   .seed = way.turns},
                  &network);
  uint64_t sequence = 0;
  for (const auto& group : way.groups) {
    ++sequence;
    for (int h = 0; h < kHosts; ++h) {
      cluster.engine(h).Start(
          job.BucketOf(h, {.epoch = 1, .sequence = sequence, .stream = 1}, group));
    }
  }
  EXPECT_TRUE(cluster.RunToTheEnd());
  EXPECT_EQ(job.Check(), "");
  return job.Results();
}

using Types = std::tuple<Algorithm, DataType, DataType>;
class SameBitsTest : public testing::TestWithParam<Types> {
 protected:
  SameBitsTest()
      : options_(
            Tensors(std::get<0>(GetParam()), std::get<1>(GetParam()), std::get<2>(GetParam()))) {
    Way way;
    way.groups = OneByOne(options_.counts.size());
    expected_ = RunOneWay(options_, way);
  }

  const JobOptions options_;
  Bits expected_;
};

TEST_P(SameBitsTest, FusedInTwentyRandomWays) {
  std::mt19937_64 random(20);
  for (int i = 0; i < 20; ++i) {
    Way way;
    way.groups = RandomGroups(options_.counts.size(), random);
    EXPECT_EQ(RunOneWay(options_, way), expected_) << "way " << i;
  }
}

TEST_P(SameBitsTest, WhateverSegmentsAndChannels) {
  for (const uint64_t segment_bytes : {16, 100, 1024, 65536}) {
    for (const int channels : {1, 3}) {
      Way way{.segment_bytes = segment_bytes, .channels = channels};
      way.groups.resize(1);
      for (size_t t = 0; t < options_.counts.size(); ++t) way.groups[0].push_back(t);
      EXPECT_EQ(RunOneWay(options_, way), expected_) << segment_bytes << " x " << channels;
    }
  }
}

TEST_P(SameBitsTest, WithDelaysAndReordering) {
  std::mt19937_64 random(30);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Way way;
    way.network.seed = seed;
    way.network.channels = 3;
    way.network.max_delay = milliseconds(5);
    way.turns = seed;
    way.groups = RandomGroups(options_.counts.size(), random);
    EXPECT_EQ(RunOneWay(options_, way), expected_) << "seed " << seed;
  }
}

std::string NameOfCase(const testing::TestParamInfo<Types>& info) {
  const auto [algorithm, dtype, wire] = info.param;
  return std::string(algorithm == Algorithm::kRing ? "ring_" : "doubling_") +
         std::string(Name(dtype)) + "_as_" + std::string(Name(wire));
}

INSTANTIATE_TEST_SUITE_P(
    Types, SameBitsTest,
    testing::Values(Types{Algorithm::kRing, DataType::kFloat32, DataType::kFloat32},
                    Types{Algorithm::kRing, DataType::kFloat16, DataType::kFloat16},
                    Types{Algorithm::kRing, DataType::kBFloat16, DataType::kFloat32},
                    Types{Algorithm::kRecursiveDoubling, DataType::kFloat32, DataType::kFloat32},
                    Types{Algorithm::kRecursiveDoubling, DataType::kBFloat16, DataType::kBFloat16},
                    Types{Algorithm::kRecursiveDoubling, DataType::kFloat16, DataType::kFloat32}),
    NameOfCase);

}  // namespace
}  // namespace reigen::collective
