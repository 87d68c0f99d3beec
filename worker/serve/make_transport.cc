#include "worker/serve/make_transport.h"

#include <charconv>
#include <utility>

#include "runtime/transport/tcp/tcp_transport.h"

namespace reigen::worker {
namespace {

// "FIRST-LAST", or empty for any port.
StatusOr<transport::PortRange> ParsePorts(const std::string& text) {
  transport::PortRange ports;
  if (text.empty()) return ports;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, ports.first);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '-') {
    const auto last = std::from_chars(first.ptr + 1, end, ports.last);
    if (last.ec == std::errc() && last.ptr == end && ports.first > 0 &&
        ports.first <= ports.last) {
      return ports;
    }
  }
  return InvalidArgument("port range '" + text + "' is not FIRST-LAST within 1-65535");
}

}  // namespace

StatusOr<std::unique_ptr<transport::Transport>> MakeTransport(const launch::GuardStart& start,
                                                              const std::string& local_address) {
  transport::TcpOptions options;
  options.job = start.job();
  options.secret = start.secret();
  options.host = start.host().host();
  options.name = start.host().name();
  options.bind_addresses = {local_address};
  REIGEN_ASSIGN_OR_RETURN(options.ports, ParsePorts(start.options().port_range()));
  if (start.options().channels() > 0) {
    options.channels = static_cast<int>(start.options().channels());
  }
  REIGEN_ASSIGN_OR_RETURN(auto transport, transport::TcpTransport::Create(options));
  return std::unique_ptr<transport::Transport>(std::move(transport));
}

}  // namespace reigen::worker
