// Goal: whoever does the memory work, GPUs or processors or some hosts so and some so, every
// rank has the same bits.
// Method: each collective of each type, with every operator and size, is run by processors
// alone over the fake network (conformance_test.cc compares that with the reference), then by
// GPUs of all hosts and of some, 1 to 3 ranks a host (2 over TCP and RDMA, this with scratch in
// memory of the host and of GPUs); all memory of all ranks must be equal.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "runtime/collective/testing/cluster.h"
#include "runtime/collective/testing/job.h"
#include "tests/conformance/rdma_network.h"
#include "tests/conformance/tcp_network.h"

namespace reigen::collective {
namespace {

constexpr int kHosts = 3;
constexpr uint64_t kSegmentBytes = 8192;  // above what travels eagerly

enum class Wire { kFake, kTcp, kRdma, kGpuDirect };

std::unique_ptr<Network> Make(Wire wire) {
  switch (wire) {
    case Wire::kTcp:
      return std::make_unique<TcpNetwork>(/*sockets=*/2);
    case Wire::kRdma:
    case Wire::kGpuDirect:
      return std::make_unique<RdmaNetwork>(wire == Wire::kGpuDirect);
    case Wire::kFake:
      break;
  }
  return std::make_unique<FakeNetworkOf>(transport::FakeOptions{});
}

// What all runs of a case have in common; each tensor is a bucket, the last five are one.
JobOptions Base(Algorithm algorithm, DataType dtype) {
  JobOptions base{.algorithm = algorithm, .dtype = dtype, .wire = dtype};
  if (algorithm == Algorithm::kChainBroadcast || algorithm == Algorithm::kTreeBroadcast) {
    base.kind = CollectiveKind::kBroadcast;
  }
  base.hosts = algorithm == Algorithm::kNone ? 1 : kHosts;
  base.root = base.hosts / 2;
  base.counts = {0, 1, 7, 1023, 8195, 1, 7, 0, 1023, 64};
  base.segment_bytes = kSegmentBytes;
  base.data = reduce::Data::kAnyBits;
  return base;
}

// The operators, scales and types of partial sums that the type has.
std::vector<JobOptions> Variants(const JobOptions& base) {
  if (base.kind == CollectiveKind::kBroadcast) return {base};
  std::vector<JobOptions> variants;
  for (const ReduceOp op : {ReduceOp::kAverage, ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax,
                            ReduceOp::kProduct}) {
    if (base.dtype == DataType::kBool && op == ReduceOp::kAverage) continue;
    variants.push_back(base);
    variants.back().op = op;
    if (base.dtype == DataType::kBool || (op != ReduceOp::kAverage && op != ReduceOp::kSum)) continue;
    JobOptions scaled = variants.back();
    scaled.prescale = 0.75;
    scaled.postscale = 3;
    if (IsHalf(base.dtype)) scaled.wire = DataType::kFloat32;
    variants.push_back(scaled);
  }
  for (size_t i = 0; i < variants.size(); ++i) variants[i].seed = i + 1;
  return variants;
}

// The memory of all ranks of all variants, after they ran.
std::vector<std::vector<std::byte>> MemoryAfter(const std::vector<JobOptions>& variants, Wire wire,
                                                const std::vector<int>& gpu_hosts) {
  std::deque<Job> jobs;
  for (JobOptions options : variants) {
    options.gpu_hosts = gpu_hosts;
    jobs.emplace_back(options);
  }
  const auto network = Make(wire);
  Cluster cluster({.hosts = variants[0].hosts, .segment_bytes = kSegmentBytes, .leaders = 2},
                  network.get());
  for (int h = 0; h < cluster.size(); ++h) {
    uint64_t sequence = 0;
    for (Job& job : jobs) {
      for (const std::vector<size_t>& which :
           std::vector<std::vector<size_t>>{{0}, {1}, {2}, {3}, {4}, {5, 6, 7, 8, 9}}) {
        cluster.engine(h).Start(job.BucketOf(h, {.epoch = 1, .sequence = ++sequence, .stream = 1}, which));
      }
    }
  }
  EXPECT_TRUE(cluster.RunToTheEnd());
  std::vector<std::vector<std::byte>> memory;
  for (const Job& job : jobs) {
    for (int h = 0; h < cluster.size(); ++h) {
      for (const Status& end : job.ends(h)) EXPECT_TRUE(end.ok()) << end;
    }
    memory.push_back(job.AllMemory());
  }
  return memory;
}

class GpuConformance : public testing::TestWithParam<std::tuple<Algorithm, int>> {};

TEST_P(GpuConformance, GivesTheBitsOfTheProcessors) {
  const auto [algorithm, dtype] = GetParam();
  JobOptions base = Base(algorithm, static_cast<DataType>(dtype));
  const bool alone = base.hosts == 1;
  for (base.ranks = 1; base.ranks <= 3; ++base.ranks) {
    const std::vector<JobOptions> variants = Variants(base);
    const auto expected = MemoryAfter(variants, Wire::kFake, {});
    for (const Wire wire : {Wire::kFake, Wire::kTcp, Wire::kRdma, Wire::kGpuDirect}) {
      if (wire != Wire::kFake && (alone || base.ranks != 2)) continue;  // more is slow, not new
      for (const std::vector<int>& gpu_hosts : std::vector<std::vector<int>>{{0, 1, 2}, {0}, {1, 2}}) {
        if (alone && gpu_hosts.size() != 1) continue;
        EXPECT_TRUE(MemoryAfter(variants, wire, gpu_hosts) == expected)
            << base.ranks << " ranks a host, network " << static_cast<int>(wire) << ", GPUs of "
            << gpu_hosts.size() << " hosts";
      }
    }
  }
}

std::string NameOfCase(const testing::TestParamInfo<GpuConformance::ParamType>& info) {
  const auto [algorithm, dtype] = info.param;
  constexpr const char* kNames[] = {"OneHost", "Ring", "Doubling", "Chain", "Tree"};
  return std::string(kNames[static_cast<size_t>(algorithm)]) + "_" +
         std::string(Name(static_cast<DataType>(dtype)));
}

INSTANTIATE_TEST_SUITE_P(
    All, GpuConformance,
    testing::Combine(testing::Values(Algorithm::kNone, Algorithm::kRing, Algorithm::kRecursiveDoubling,
                                     Algorithm::kChainBroadcast, Algorithm::kTreeBroadcast),
                     testing::Range(0, kDataTypeCount)),
    NameOfCase);

}  // namespace
}  // namespace reigen::collective
