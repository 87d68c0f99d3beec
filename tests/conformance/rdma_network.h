// RDMA over verbs in memory for a Cluster.
#ifndef REIGEN_TESTS_CONFORMANCE_RDMA_NETWORK_H_
#define REIGEN_TESTS_CONFORMANCE_RDMA_NETWORK_H_

#include <memory>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/collective/testing/cluster.h"
#include "runtime/transport/link.h"
#include "runtime/transport/rdma/fake/fake_fabric.h"

namespace reigen::collective {

// A device on each host; side channels are TCP over loopback. Where scratch of GPUs is
// `direct`, it is memory of their own, that no processor touches and that holds what was
// received only once it has been read back; else it is memory of the host.
class RdmaNetwork final : public Network {
 public:
  explicit RdmaNetwork(bool direct) : direct_(direct) {}

  std::unique_ptr<transport::Transport> AddHost(int host) override;
  std::unique_ptr<GpuMemory> MakeGpuMemory(transport::Transport& transport, size_t bytes) override;
  Time now() override { return Now(); }
  // Sleeps until a transport has something to do, at most 5 ms.
  void Wait() override;

 private:
  const bool direct_;
  transport::rdma::FakeFabric fabric_;
  std::vector<transport::Transport*> transports_;
};

}  // namespace reigen::collective

#endif  // REIGEN_TESTS_CONFORMANCE_RDMA_NETWORK_H_
