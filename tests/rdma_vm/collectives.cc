// Goal: every collective over real RDMA gives what the reference says.
// Method: two and three hosts' engines in one thread, each over the device that has its
// address 10.77.0.<host + 1> (tests/rdma_vm/vm makes them).
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "runtime/collective/testing/cluster.h"
#include "runtime/collective/testing/job.h"
#include "runtime/transport/conformance/wait.h"
#include "runtime/transport/rdma/rdma_transport.h"
#include "runtime/transport/rdma/real/real_verbs.h"

namespace reigen::collective {
namespace {

class RdmaNetwork final : public Network {
 public:
  std::unique_ptr<transport::Transport> AddHost(int host) override {
    transport::rdma::RdmaOptions options;
    options.job = "conformance";
    options.secret = "secret";
    options.host = host;
    options.name = "host" + std::to_string(host);
    options.bind_addresses = {"10.77.0." + std::to_string(host + 1)};
    auto verbs = transport::rdma::MakeRealVerbs();
    REIGEN_CHECK(verbs.ok(), "verbs");
    auto transport = transport::rdma::RdmaTransport::Create(options, std::move(verbs).value());
    REIGEN_CHECK(transport.ok(), "no device with the host's address");
    transports_.push_back(transport->get());
    return std::move(transport).value();
  }
  Time now() override { return Now(); }
  void Wait() override { transport::WaitForAny(transports_); }

 private:
  std::vector<transport::Transport*> transports_;
};

// One cluster for all: making links takes longer than using them.
void RunAll(int hosts, const std::vector<uint64_t>& counts) {
  constexpr uint64_t kSegmentBytes = 16384;
  RdmaNetwork network;
  std::vector<std::unique_ptr<Job>> jobs;
  Cluster cluster({.hosts = hosts, .segment_bytes = kSegmentBytes}, &network);
  uint64_t sequence = 0;
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kRecursiveDoubling,
                                    Algorithm::kChainBroadcast, Algorithm::kTreeBroadcast}) {
    for (const DataType dtype : {DataType::kFloat32, DataType::kBFloat16, DataType::kInt64}) {
      for (const uint64_t count : counts) {
        JobOptions options{.algorithm = algorithm, .dtype = dtype, .wire = dtype};
        const bool broadcast =
            algorithm == Algorithm::kChainBroadcast || algorithm == Algorithm::kTreeBroadcast;
        if (broadcast) options.kind = CollectiveKind::kBroadcast;
        options.hosts = hosts;
        options.ranks = 2;
        options.root = 1;
        options.counts = {count};
        options.segment_bytes = kSegmentBytes;
        jobs.push_back(std::make_unique<Job>(options));
        EXPECT_EQ(RunAndCheck(cluster, *jobs.back(), ++sequence), "")
            << "algorithm " << static_cast<int>(algorithm) << " dtype " << Name(dtype) << " of "
            << count;
      }
    }
  }
}

TEST(RdmaCollectivesTest, EveryCollectiveOfTwoHostsMatchesTheReference) {
  RunAll(2, {1, 7, 1023, 16387, 70001});
}

// Three: one host is folded, and chunks go further than to a neighbour.
TEST(RdmaCollectivesTest, EveryCollectiveOfThreeHostsMatchesTheReference) {
  RunAll(3, {7, 16387});
}

}  // namespace
}  // namespace reigen::collective
