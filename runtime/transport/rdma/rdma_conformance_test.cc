// Goal: RDMA links keep the contract of Link.
// Method: the conformance suite over verbs in memory; tests/rdma_vm runs the same over
// real verbs.
#include <gtest/gtest.h>

#include <memory>

#include "runtime/transport/conformance/conformance.h"
#include "runtime/transport/rdma/testing/rdma_pair.h"

namespace reigen::transport {
namespace {

FabricCase Case(const std::string& name, int channels, int devices0, int devices1) {
  return {name,
          [=] { return std::make_unique<rdma::FakeRdmaPair>(channels, devices0, devices1); }};
}

INSTANTIATE_TEST_SUITE_P(Rdma, LinkConformance,
                         testing::Values(Case("one_queue", 1, 1, 1), Case("four_queues", 4, 1, 1),
                                         Case("two_devices", 2, 2, 2),
                                         Case("two_devices_to_one", 3, 2, 1)),
                         FabricName);

}  // namespace
}  // namespace reigen::transport
