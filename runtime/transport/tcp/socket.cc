#include "runtime/transport/tcp/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>

namespace reigen::transport {
namespace {

constexpr int kBacklog = 512;

Status Set(int fd, int level, int option, int value, const char* name) {
  if (setsockopt(fd, level, option, &value, sizeof value) == 0) return OkStatus();
  return ErrnoStatus(StatusCode::kInternal, std::string("setsockopt ") + name);
}

StatusOr<UniqueFd> NewSocket(int family) {
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoStatus(StatusCode::kUnavailable, "socket");
  return fd;
}

std::string RangeText(const PortRange& ports) {
  return std::to_string(ports.first) + "-" + std::to_string(ports.last);
}

}  // namespace

StatusOr<UniqueFd> Listen(SocketAddress address, const PortRange& ports) {
  if (ports.last < ports.first) return InvalidArgument("port range " + RangeText(ports) + " is empty");
  for (uint32_t port = ports.first; port <= ports.last; ++port) {
    REIGEN_ASSIGN_OR_RETURN(UniqueFd fd, NewSocket(address.family()));
    REIGEN_RETURN_IF_ERROR(Set(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR"));
    if (address.family() == AF_INET6) {
      REIGEN_RETURN_IF_ERROR(Set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1, "IPV6_V6ONLY"));
    }
    address.set_port(static_cast<uint16_t>(port));
    // Two listeners may both bind a port with SO_REUSEADDR; the second listen fails.
    if (bind(fd.get(), address.get(), address.bytes) == 0 && listen(fd.get(), kBacklog) == 0) {
      return fd;
    }
    if (errno != EADDRINUSE) {
      return ErrnoStatus(StatusCode::kUnavailable, "listen on " + Format(address));
    }
  }
  address.set_port(0);
  std::string where = Format(address);
  where.resize(where.size() - 2);  // without the port
  return ResourceExhausted("no free port in " + RangeText(ports) + " on " + where +
                           "; widen the port range");
}

StatusOr<UniqueFd> StartConnect(const SocketAddress& address) {
  REIGEN_ASSIGN_OR_RETURN(UniqueFd fd, NewSocket(address.family()));
  if (connect(fd.get(), address.get(), address.bytes) != 0 && errno != EINPROGRESS) {
    return ErrnoStatus(StatusCode::kUnavailable, "connect");
  }
  return fd;
}

int SocketError(int fd) {
  int error = 0;
  socklen_t bytes = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return errno;
  return error;
}

Status Tune(int fd, Duration path_timeout) {
  const auto timeout_ms =
      static_cast<int>(std::chrono::duration_cast<milliseconds>(path_timeout).count());
  const int probe_s = std::max(1, timeout_ms / 4000);
  REIGEN_RETURN_IF_ERROR(Set(fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY"));
  REIGEN_RETURN_IF_ERROR(Set(fd, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE"));
  REIGEN_RETURN_IF_ERROR(Set(fd, IPPROTO_TCP, TCP_KEEPIDLE, probe_s, "TCP_KEEPIDLE"));
  REIGEN_RETURN_IF_ERROR(Set(fd, IPPROTO_TCP, TCP_KEEPINTVL, probe_s, "TCP_KEEPINTVL"));
  REIGEN_RETURN_IF_ERROR(Set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3, "TCP_KEEPCNT"));
  return Set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, timeout_ms, "TCP_USER_TIMEOUT");
}

}  // namespace reigen::transport
