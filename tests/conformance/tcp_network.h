// Real TCP over loopback for a Cluster.
#ifndef REIGEN_TESTS_CONFORMANCE_TCP_NETWORK_H_
#define REIGEN_TESTS_CONFORMANCE_TCP_NETWORK_H_

#include <memory>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/collective/testing/cluster.h"
#include "runtime/transport/link.h"

namespace reigen::collective {

class TcpNetwork final : public Network {
 public:
  explicit TcpNetwork(int sockets) : sockets_(sockets) {}

  std::unique_ptr<transport::Transport> AddHost(int host) override;
  Time now() override { return Now(); }
  // Sleeps until a transport has something to do, at most 5 ms.
  void Wait() override;

 private:
  const int sockets_;  // per link
  std::vector<transport::Transport*> transports_;
};

}  // namespace reigen::collective

#endif  // REIGEN_TESTS_CONFORMANCE_TCP_NETWORK_H_
