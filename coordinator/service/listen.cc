#include "coordinator/service/listen.h"

#include <grpc/support/log.h>
#include <netdb.h>
#include <sys/socket.h>

#include <charconv>

#include "coordinator/limits.h"
#include "runtime/base/log.h"
#include "runtime/base/unique_fd.h"

namespace reigen::coordinator {
namespace {

// Another process may take a port between the look at it and its use.
constexpr int kAttempts = 5;

struct PortRange {
  int first = 0;
  int last = 0;
};

StatusOr<PortRange> ParsePortRange(const std::string& text) {
  PortRange range;
  if (text.empty()) return range;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.first);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '-') {
    const auto last = std::from_chars(first.ptr + 1, end, range.last);
    if (last.ec == std::errc() && last.ptr == end && range.first >= 1 &&
        range.first <= range.last && range.last <= 65535) {
      return range;
    }
  }
  return InvalidArgument("port range '" + text + "' is not FIRST-LAST within 1-65535");
}

bool IsV6(const std::string& address) { return address.find(':') != std::string::npos; }

std::string WithPort(const std::string& address, int port) {
  return (IsV6(address) ? "[" + address + "]:" : address + ":") + std::to_string(port);
}

// Whether the address is one of this machine's and the port free on it; port 0:
// whether there is any.
Status TryBind(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return InvalidArgument("'" + address + "' is no literal address: " + gai_strerror(error));
  }
  UniqueFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int one = 1;
  Status status;
  if (!fd.valid() || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
      bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || listen(fd.get(), 1) != 0) {
    status = ErrnoStatus(StatusCode::kUnavailable, "bind " + WithPort(address, port));
  }
  freeaddrinfo(found);
  return status;
}

StatusOr<int> ChoosePort(const std::string& address, const PortRange& range) {
  if (range.first == 0) {
    REIGEN_RETURN_IF_ERROR(TryBind(address, 0));
    return 0;
  }
  Status last;
  for (int port = range.first; port <= range.last; ++port) {
    last = TryBind(address, port);
    if (last.ok()) return port;
    if (last.code() == StatusCode::kInvalidArgument) return last;
  }
  return MakeStatus(StatusCode::kResourceExhausted,
                    "no port of " + std::to_string(range.first) + "-" +
                        std::to_string(range.last) + " is free on " + address + " (" +
                        Message(last) + "); give a larger port range");
}

}  // namespace

StatusOr<Listening> Listen(grpc::Service* service, const std::vector<std::string>& addresses,
                           const std::string& port_range) {
  if (addresses.empty()) return InvalidArgument("no address to listen on");
  REIGEN_ASSIGN_OR_RETURN(const PortRange range, ParsePortRange(port_range));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    grpc::ServerBuilder builder;
    builder.RegisterService(service);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.SetMaxSendMessageSize(kMaxMessageBytes);
    // Two jobs never share a port.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    // Its pings would wake both ends of an idle job as often as the heartbeats do.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    std::vector<int> ports(addresses.size());
    for (size_t i = 0; i < addresses.size(); ++i) {
      REIGEN_ASSIGN_OR_RETURN(const int port, ChoosePort(addresses[i], range));
      builder.AddListeningPort(WithPort(addresses[i], port), grpc::InsecureServerCredentials(),
                               &ports[i]);
    }
    Listening listening{.server = builder.BuildAndStart(), .addresses = {}};
    if (listening.server == nullptr) continue;
    for (size_t i = 0; i < addresses.size(); ++i) {
      listening.addresses.push_back(WithPort(addresses[i], ports[i]));
    }
    return listening;
  }
  return Unavailable("could not listen on " + addresses.front() + " and the other addresses");
}

void RouteGrpcLog() {
  gpr_set_log_function([](gpr_log_func_args* args) {
    REIGEN_DEBUG("grpc: {} ({}:{})", args->message, args->file, args->line);
  });
}

}  // namespace reigen::coordinator
