// Two hosts linked by RDMA, driven by a test's thread.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_TESTING_RDMA_PAIR_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_TESTING_RDMA_PAIR_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/transport/conformance/fabric.h"
#include "runtime/transport/rdma/fake/fake_fabric.h"
#include "runtime/transport/rdma/rdma_transport.h"
#include "runtime/transport/rdma/verbs.h"

namespace reigen::transport::rdma {

// Sleeps on event_fd() and NextDeadline() as a worker does.
class RdmaPair : public Fabric {
 public:
  // The names are "anna" and "bert".
  void Create(int host, RdmaOptions options, std::unique_ptr<Verbs> verbs);

  Transport& transport(int host) override { return *hosts_[host]; }
  Peer peer(int host) override { return {host, Name(host), addresses_[host]}; }
  void Step() override;
  void KillHost(int host) override { hosts_[host].reset(); }

  static std::string Name(int host) { return host == 0 ? "anna" : "bert"; }

 private:
  std::unique_ptr<RdmaTransport> hosts_[2];
  std::vector<std::string> addresses_[2];
};

// Over verbs in memory, with side channels over loopback. Device i of host h is
// "fake<h><i>" with address 10.0.<i>.<h + 1>, of its port p > 1 10.<p - 1>.<i>.<h + 1>.
// Expects in the end that nothing is left.
class FakeRdmaPair : public RdmaPair {
 public:
  // `options`: what is not of one host.
  FakeRdmaPair(int channels, int devices0, int devices1, RdmaOptions options = {}, int ports = 1);
  ~FakeRdmaPair() override;
  FakeFabric& fabric() { return fabric_; }

 private:
  FakeFabric fabric_;
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_TESTING_RDMA_PAIR_H_
