#include "runtime/transport/rdma/testing/rdma_pair.h"

#include <gtest/gtest.h>

#include <utility>

#include "runtime/transport/conformance/wait.h"

namespace reigen::transport::rdma {

void RdmaPair::Create(int host, RdmaOptions options, std::unique_ptr<Verbs> verbs) {
  options.job = "job";
  options.secret = "secret";
  options.host = host;
  options.name = Name(host);
  auto transport = RdmaTransport::Create(options, std::move(verbs));
  ASSERT_TRUE(transport.ok()) << transport.status().ToString();
  hosts_[host] = std::move(transport).value();
  addresses_[host] = hosts_[host]->addresses();
}

void RdmaPair::Step() {
  WaitAndProgress({hosts_[0].get(), hosts_[1].get()});
}

FakeRdmaPair::FakeRdmaPair(int channels, int devices0, int devices1, RdmaOptions options,
                           int ports) {
  const int devices[2] = {devices0, devices1};
  for (int host : {0, 1}) {
    for (int i = 0; i < devices[host]; ++i) {
      const std::string end = "." + std::to_string(i) + "." + std::to_string(host + 1);
      FakeDeviceState& device = fabric_.AddDevice(
          host, "fake" + std::to_string(host) + std::to_string(i), "10.0" + end);
      for (int port = 2; port <= ports; ++port) {
        PortInfo& further = device.info.ports.emplace_back(device.info.ports[0]);
        further.number = static_cast<uint8_t>(port);
        further.gids[1].gid = *GidOfAddress("10." + std::to_string(port - 1) + end);
      }
    }
    options.bind_addresses = {"127.0.0.1"};
    options.channels = channels;
    Create(host, options, fabric_.VerbsOf(host));
  }
}

FakeRdmaPair::~FakeRdmaPair() {
  for (int host : {0, 1}) KillHost(host);
  EXPECT_EQ(fabric_.missing_receives(), 0u);
  EXPECT_EQ(fabric_.queue_pairs(), 0u);
  EXPECT_EQ(fabric_.registrations(), 0u);
}

}  // namespace reigen::transport::rdma
