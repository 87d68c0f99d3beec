// Goal: links over real verbs keep the contract of Link.
// Method: the conformance suite over the RDMA devices of this machine that have the
// two addresses of REIGEN_TEST_RDMA_ADDRESSES ("10.0.0.1,10.0.0.2"); tests/rdma_vm
// runs it over two soft-RoCE devices. Memory of GPUs is memfds, under addresses that nobody
// may touch (memfd_as_dmabuf.cc): placing and read-backs are the devices' own work.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "runtime/transport/conformance/conformance.h"
#include "runtime/transport/rdma/real/real_verbs.h"
#include "runtime/transport/rdma/testing/device_pair.h"
#include "runtime/transport/rdma/testing/rdma_pair.h"

namespace reigen::transport {
namespace {

std::unique_ptr<Fabric> MakePair(int channels) {
  const char* const text = std::getenv("REIGEN_TEST_RDMA_ADDRESSES");
  const std::string both = text == nullptr ? "10.77.0.1,10.77.0.2" : text;
  auto pair = std::make_unique<rdma::RdmaPair>();
  for (int host : {0, 1}) {
    rdma::RdmaOptions options;
    const size_t comma = both.find(',');
    options.bind_addresses = {host == 0 ? both.substr(0, comma) : both.substr(comma + 1)};
    options.channels = channels;
    auto verbs = rdma::MakeRealVerbs();
    EXPECT_TRUE(verbs.ok()) << verbs.status().ToString();
    pair->Create(host, options, std::move(verbs).value());
  }
  return pair;
}

INSTANTIATE_TEST_SUITE_P(RealRdma, LinkConformance,
                         testing::Values(FabricCase{"one_queue", [] { return MakePair(1); }},
                                         FabricCase{"two_queues", [] { return MakePair(2); }},
                                         FabricCase{"seven_queues", [] { return MakePair(7); }}),
                         FabricName);

FabricCase OnGpus(const std::string& name, bool gpu0, bool gpu1) {
  return {name,
          [=] { return std::make_unique<rdma::DevicePair>(MakePair(2), gpu0, gpu1); },
          /*eager=*/!gpu0};
}

INSTANTIATE_TEST_SUITE_P(RealRdmaOnGpus, LinkConformance,
                         testing::Values(OnGpus("two_queues", true, true),
                                         OnGpus("two_queues_from_a_gpu", true, false),
                                         OnGpus("two_queues_to_a_gpu", false, true)),
                         FabricName);

}  // namespace
}  // namespace reigen::transport
