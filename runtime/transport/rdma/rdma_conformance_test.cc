// Goal: RDMA links keep the contract of Link.
// Method: the conformance suite over verbs in memory, with memory of the hosts and with
// memory of GPUs that nobody may touch; tests/rdma_vm runs the same over real verbs.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/transport/conformance/conformance.h"
#include "runtime/transport/conformance/door.h"
#include "runtime/transport/rdma/fake/fake_fabric.h"
#include "runtime/transport/rdma/rdma_transport.h"
#include "runtime/transport/rdma/testing/device_pair.h"
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

FabricCase OnGpus(const std::string& name, int channels, int devices, bool gpu0, bool gpu1) {
  return {name,
          [=] { return rdma::MakeFakeDevicePair(channels, devices, gpu0, gpu1); },
          /*eager=*/!gpu0};
}

INSTANTIATE_TEST_SUITE_P(RdmaOnGpus, LinkConformance,
                         testing::Values(OnGpus("both_ends", 1, 1, true, true),
                                         OnGpus("two_devices", 4, 2, true, true),
                                         OnGpus("host_0_only", 2, 2, true, false),
                                         OnGpus("host_1_only", 2, 2, false, true)),
                         FabricName);

// Its door is that of the side channel.
DoorCase::MakeHost OpenDoor() {
  auto fabric = std::make_shared<rdma::FakeFabric>();
  fabric->AddDevice(0, "fake00", "10.0.0.1");
  fabric->AddDevice(1, "fake10", "10.0.0.2");
  return [fabric](int host, const std::string& secret, Duration connect_deadline) {
    rdma::RdmaOptions options;
    options.job = "job";
    options.secret = secret;
    options.host = host;
    options.name = rdma::RdmaPair::Name(host);
    options.bind_addresses = {"127.0.0.1"};
    options.connect_deadline = connect_deadline;
    return std::move(rdma::RdmaTransport::Create(options, fabric->VerbsOf(host))).value();
  };
}

INSTANTIATE_TEST_SUITE_P(Rdma, DoorConformance, testing::Values(DoorCase{"rdma", OpenDoor}), DoorName);

}  // namespace
}  // namespace reigen::transport
