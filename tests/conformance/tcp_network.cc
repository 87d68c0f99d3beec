#include "tests/conformance/tcp_network.h"

#include <poll.h>

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/check.h"
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

void TcpNetwork::Wait() {
  std::vector<pollfd> events;
  Duration wait = milliseconds(5);
  const Time start = Now();
  for (transport::Transport* const transport : transports_) {
    events.push_back({transport->event_fd(), POLLIN, 0});
    const auto deadline = transport->NextDeadline();
    if (deadline) wait = std::min(wait, std::max(Duration{0}, *deadline - start));
  }
  poll(events.data(), events.size(), static_cast<int>(std::chrono::ceil<milliseconds>(wait).count()));
}

}  // namespace reigen::collective
