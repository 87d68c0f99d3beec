#include "tests/conformance/rdma_network.h"

#include <string>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/transport/conformance/wait.h"
#include "runtime/transport/rdma/rdma_transport.h"

namespace reigen::collective {

std::unique_ptr<transport::Transport> RdmaNetwork::AddHost(int host) {
  const std::string number = std::to_string(host);
  fabric_.AddDevice(host, "fake" + number, "10.0.0." + std::to_string(host + 1));
  transport::rdma::RdmaOptions options;
  options.job = "conformance";
  options.secret = "secret";
  options.host = host;
  options.name = "host" + number;
  options.bind_addresses = {"127.0.0.1"};
  auto transport = transport::rdma::RdmaTransport::Create(options, fabric_.VerbsOf(host));
  REIGEN_CHECK(transport.ok(), "no RDMA over verbs in memory");
  transports_.push_back(transport->get());
  return std::move(transport).value();
}

void RdmaNetwork::Wait() { transport::WaitForAny(transports_); }

}  // namespace reigen::collective
