// Every collective over every transport gives what the reference says.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/collective/testing/cluster.h"
#include "runtime/collective/testing/job.h"
#include "tests/conformance/rdma_network.h"
#include "tests/conformance/tcp_network.h"

namespace reigen::collective {
namespace {

enum class Wire { kFake, kTcp, kRdma };

struct Case {
  Algorithm algorithm;
  Wire wire;
  DataType dtype;
  uint64_t count;
};

std::string ShortName(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing: return "ring";
    case Algorithm::kRecursiveDoubling: return "doubling";
    case Algorithm::kChainBroadcast: return "chain";
    case Algorithm::kTreeBroadcast: return "tree";
    case Algorithm::kNone: break;
  }
  return "none";
}

std::string ShortName(DataType dtype) {
  const std::string name(Name(dtype));
  const std::string digits = name.substr(std::min(name.find_first_of("0123456789"), name.size()));
  if (dtype == DataType::kBFloat16) return "bf16";
  return digits.empty() ? name : name.substr(0, 1) + digits;
}

std::string NameOfCase(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  const char* const wire = c.wire == Wire::kTcp ? "_tcp_" : c.wire == Wire::kRdma ? "_rdma_" : "_fake_";
  return ShortName(c.algorithm) + wire + ShortName(c.dtype) + "_n" + std::to_string(c.count);
}

std::vector<Case> Cases(std::vector<Algorithm> algorithms) {
  std::vector<Case> cases;
  for (const Algorithm algorithm : algorithms) {
    for (const Wire wire : {Wire::kFake, Wire::kTcp, Wire::kRdma}) {
      for (int dtype = 0; dtype < kDataTypeCount; ++dtype) {
        for (const uint64_t count : {0, 1, 7, 1023, 16387}) {
          cases.push_back({algorithm, wire, static_cast<DataType>(dtype), count});
        }
      }
    }
  }
  return cases;
}

std::unique_ptr<Network> Make(Wire wire) {
  if (wire == Wire::kTcp) return std::make_unique<TcpNetwork>(/*sockets=*/2);
  if (wire == Wire::kRdma) return std::make_unique<RdmaNetwork>(/*direct=*/false);
  return std::make_unique<FakeNetworkOf>(transport::FakeOptions{});
}

class Conformance : public testing::TestWithParam<Case> {};

TEST_P(Conformance, MatchesReference) {
  const Case& c = GetParam();
  JobOptions options{.algorithm = c.algorithm, .dtype = c.dtype, .wire = c.dtype};
  if (c.algorithm == Algorithm::kChainBroadcast || c.algorithm == Algorithm::kTreeBroadcast) {
    options.kind = CollectiveKind::kBroadcast;
  }
  options.hosts = 3;
  options.ranks = 2;
  options.root = 1;
  options.counts = {c.count};
  options.segment_bytes = 8192;  // above what travels eagerly
  Job job(options);
  const auto network = Make(c.wire);
  Cluster cluster({.hosts = 3, .segment_bytes = 8192}, network.get());
  EXPECT_EQ(RunAndCheck(cluster, job), "");
}

INSTANTIATE_TEST_SUITE_P(Allreduce, Conformance,
                         testing::ValuesIn(Cases({Algorithm::kRing, Algorithm::kRecursiveDoubling})),
                         NameOfCase);
INSTANTIATE_TEST_SUITE_P(Broadcast, Conformance,
                         testing::ValuesIn(Cases({Algorithm::kChainBroadcast, Algorithm::kTreeBroadcast})),
                         NameOfCase);

TEST(ConformanceTest, ManyLargeBucketsOverTcpOnThePool) {
  JobOptions options;
  options.hosts = 2;
  options.ranks = 2;
  options.segment_bytes = 256 << 10;
  options.counts = {300000, 7, 12345, 500000};
  Job job(options);
  TcpNetwork network(/*sockets=*/4);
  Cluster cluster({.hosts = 2, .scratch_bytes = 8 << 20, .segment_bytes = 256 << 10, .pool_threads = 2},
                  &network);
  for (int h = 0; h < 2; ++h) {
    for (uint64_t s = 1; s <= 4; ++s) {
      cluster.engine(h).Start(job.BucketOf(h, {.epoch = 1, .sequence = s, .stream = 1}, {s - 1}));
    }
  }
  ASSERT_TRUE(cluster.RunToTheEnd());
  EXPECT_EQ(job.Check(), "");
}

}  // namespace
}  // namespace reigen::collective
