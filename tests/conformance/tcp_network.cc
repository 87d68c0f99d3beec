#include "tests/conformance/tcp_network.h"

#include <string>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/transport/conformance/wait.h"
#include "runtime/transport/tcp/tcp_transport.h"

namespace reigen::collective {

std::unique_ptr<transport::Transport> TcpNetwork::AddHost(int host) {
  transport::TcpOptions options;
  options.job = "conformance";
  options.secret = "secret";
  options.host = host;
  options.name = "host" + std::to_string(host);
  options.bind_addresses = {"127.0.0.1"};
  options.channels = sockets_;
  auto transport = transport::TcpTransport::Create(options);
  REIGEN_CHECK(transport.ok(), "no port on loopback");
  transports_.push_back(transport->get());
  return std::move(transport).value();
}

void TcpNetwork::Wait() { transport::WaitForAny(transports_); }

}  // namespace reigen::collective
