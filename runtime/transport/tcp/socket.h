// Makes the sockets of the TCP transport: non-blocking, closed on exec.
#ifndef REIGEN_RUNTIME_TRANSPORT_TCP_SOCKET_H_
#define REIGEN_RUNTIME_TRANSPORT_TCP_SOCKET_H_

#include <cstdint>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/tcp/address.h"

namespace reigen::transport {

// Both ends belong to it; first 0: any port the kernel likes.
struct PortRange {
  uint16_t first = 0;
  uint16_t last = 0;
};

// Listens on `address` and nothing else, on the first free port of the range.
// ResourceExhausted if none is free.
StatusOr<UniqueFd> Listen(SocketAddress address, const PortRange& ports);

// Begins to connect; the end of it is writable or an error (ConnectError).
StatusOr<UniqueFd> StartConnect(const SocketAddress& address);

// 0, or the errno with which a connect or a socket ended.
int SocketError(int fd);

// No delay for small frames; a dead path is an error after `path_timeout`.
Status Tune(int fd, Duration path_timeout);

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_TCP_SOCKET_H_
