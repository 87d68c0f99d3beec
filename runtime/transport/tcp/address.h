// Socket addresses as text. No names are looked up: literal addresses only.
#ifndef REIGEN_RUNTIME_TRANSPORT_TCP_ADDRESS_H_
#define REIGEN_RUNTIME_TRANSPORT_TCP_ADDRESS_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "runtime/base/status.h"

namespace reigen::transport {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
  uint16_t port() const;
  void set_port(uint16_t port);
};

// "10.0.0.1", "::1", "fe80::1%eth0"; the port is 0.
StatusOr<SocketAddress> ParseAddress(const std::string& text);

// "tcp:10.0.0.1:4000", "tcp:[::1]:4000", as Transport::addresses() gives them. The
// scheme ("tcp") says which transport listens there.
StatusOr<SocketAddress> ParseEndpoint(const std::string& text, const std::string& scheme);
bool HasScheme(const std::string& endpoint, const std::string& scheme);

// "10.0.0.1:4000", "[::1]:4000".
std::string Format(const SocketAddress& address);

// Of a socket; "?" if it has none (any more).
std::string LocalName(int fd);
std::string PeerName(int fd);

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_TCP_ADDRESS_H_
