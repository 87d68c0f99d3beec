#include "worker/coordinator_link/reach.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <optional>

#include "runtime/base/interfaces.h"
#include "runtime/base/unique_fd.h"

namespace reigen::worker {
namespace {

constexpr Duration kBetweenRounds = milliseconds(100);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// Literal addresses only: no name service is asked.
StatusOr<SocketAddress> Parse(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
  if (error != 0) return InvalidArgument(host + ": " + gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, freeaddrinfo);
  SocketAddress address;
  address.size = list->ai_addrlen;
  std::memcpy(&address.storage, list->ai_addr, list->ai_addrlen);
  return address;
}

StatusOr<SocketAddress> ParseWithPort(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return InvalidArgument(text + ": no port");
  std::string host = text.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return Parse(host, text.substr(colon + 1));
}

StatusOr<std::string> LocalAddressOf(int socket) {
  SocketAddress address;
  address.size = sizeof(address.storage);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0) {
    return ErrnoStatus(StatusCode::kInternal, "getsockname");
  }
  char host[NI_MAXHOST];
  const int error = getnameinfo(address.generic(), address.size, host, sizeof host, nullptr, 0,
                                NI_NUMERICHOST);
  if (error != 0) return Internal(gai_strerror(error));
  return std::string(host);
}

// Waits for `socket` (-1: for nothing else) or until told to give up: then Aborted.
Status WaitWritable(int socket, int stop_fd, Duration limit) {
  const auto limit_ms = std::chrono::ceil<milliseconds>(limit).count();
  pollfd fds[] = {{socket, POLLOUT, 0}, {stop_fd, POLLIN, 0}};
  const int ready = poll(fds, 2, static_cast<int>(limit_ms));
  if (fds[1].revents != 0) return Aborted("told to give up");
  return ready > 0 ? OkStatus() : DeadlineExceeded("no answer");
}

// Connects and hangs up; the local address it was from.
StatusOr<std::string> Probe(const SocketAddress& to, const SocketAddress* from,
                            const ReachOptions& options) {
  UniqueFd socket(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return ErrnoStatus(StatusCode::kUnavailable, "socket");
  if (from != nullptr && bind(socket.get(), from->generic(), from->size) != 0) {
    return ErrnoStatus(StatusCode::kUnavailable, "bind");
  }
  if (connect(socket.get(), to.generic(), to.size) != 0 && errno != EINPROGRESS) {
    return ErrnoStatus(StatusCode::kUnavailable, "connect");
  }
  REIGEN_RETURN_IF_ERROR(WaitWritable(socket.get(), options.stop_fd, options.per_address));
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return ErrnoStatus(StatusCode::kUnavailable, "connect", error);
  return LocalAddressOf(socket.get());
}

std::string InterfaceOf(const std::string& address) {
  const auto all = ListInterfaceAddresses();
  if (!all.ok()) return "?";
  for (const InterfaceAddress& known : *all) {
    if (known.address == address) return known.interface;
  }
  return "?";
}

// The addresses to connect from; one empty entry: whichever the kernel takes.
StatusOr<std::vector<std::string>> Sources(const ReachOptions& options) {
  if (options.networks.empty()) return std::vector<std::string>{""};
  REIGEN_ASSIGN_OR_RETURN(const auto all, ListInterfaceAddresses());
  REIGEN_ASSIGN_OR_RETURN(ChosenAddresses chosen,
                          ChooseAddresses(all, options.networks, options.host_name));
  return std::move(chosen.addresses);
}

}  // namespace

StatusOr<Reached> ReachCoordinator(const ReachOptions& options, Time deadline) {
  REIGEN_ASSIGN_OR_RETURN(const std::vector<std::string> sources, Sources(options));
  std::string failures;
  while (true) {
    failures.clear();
    for (const std::string& coordinator : options.coordinator_addresses) {
      REIGEN_ASSIGN_OR_RETURN(const SocketAddress to, ParseWithPort(coordinator));
      for (const std::string& source : sources) {
        std::optional<SocketAddress> from;
        if (!source.empty()) {
          REIGEN_ASSIGN_OR_RETURN(from, Parse(source, "0"));
          if (from->storage.ss_family != to.storage.ss_family) continue;
        }
        const StatusOr<std::string> local =
            Probe(to, from.has_value() ? &*from : nullptr, options);
        if (local.ok()) {
          const std::string why =
              options.networks.empty() ? "the kernel's way to" : "the chosen network reaches";
          return Reached{coordinator, *local,
                         InterfaceOf(*local) + " (" + *local + "): " + why + " coordinator " +
                             coordinator};
        }
        if (local.status().code() == StatusCode::kAborted) return local.status();
        failures += (failures.empty() ? "" : "; ") + coordinator +
                    (source.empty() ? "" : " from " + source) + ": " + Message(local.status());
      }
    }
    if (Now() >= deadline) {
      return DeadlineExceeded("host " + options.host_name +
                              " does not reach the coordinator: " + failures);
    }
    // A coordinator that is only starting refuses at once.
    const Status status = WaitWritable(-1, options.stop_fd, kBetweenRounds);
    if (status.code() == StatusCode::kAborted) return status;
  }
}

}  // namespace reigen::worker
