// Links over TCP: several sockets each, mutual proof of the job's secret first.
#ifndef REIGEN_RUNTIME_TRANSPORT_TCP_TCP_TRANSPORT_H_
#define REIGEN_RUNTIME_TRANSPORT_TCP_TCP_TRANSPORT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/transport/link.h"
#include "runtime/transport/tcp/socket.h"

namespace reigen::transport {

struct TcpOptions {
  std::string job;
  std::string secret;
  int host = 0;      // this host's number
  std::string name;  // and name, for messages
  // Literal addresses to listen on, and nothing else.
  std::vector<std::string> bind_addresses;
  PortRange ports;
  int channels = 2;  // sockets of a link; the dialler's number counts
  Duration connect_deadline = seconds(30);
  // After so long without a sign of life from the peer's system a link fails; two
  // seconds of loss are survived, as over RDMA. A peer that is merely stopped is the
  // coordinator's business, which is faster.
  Duration path_timeout = seconds(4);
};

struct TcpContext;

// event_fd() is an epoll instance. addresses() are "tcp:10.0.0.1:4000" and
// "tcp:[::1]:4000", in the order of bind_addresses.
//
// Errors: Create says which address or port range could not be had. Links name
//         both hosts, both addresses and the system's error.
class TcpTransport : public Transport {
 public:
  static StatusOr<std::unique_ptr<TcpTransport>> Create(const TcpOptions& options);
  ~TcpTransport() override;

  const char* name() const override { return "tcp"; }
  std::vector<std::string> addresses() const override;
  // Nothing is done for it: sockets take any memory.
  StatusOr<std::unique_ptr<Region>> Register(std::span<std::byte> memory) override;
  std::unique_ptr<Link> Connect(const Peer& peer) override;
  size_t EagerBytes() const override;
  int event_fd() const override;
  void Progress(Time now) override;
  std::optional<Time> NextDeadline() const override;

 private:
  explicit TcpTransport(std::unique_ptr<TcpContext> context);

  const std::unique_ptr<TcpContext> context_;
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_TCP_TCP_TRANSPORT_H_
