#include "worker/serve/make_transport.h"

#include <charconv>
#include <cstdlib>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/transport/rdma/rdma_transport.h"
#include "runtime/transport/rdma/real/real_verbs.h"
#include "runtime/transport/rdma/words.h"
#include "runtime/transport/select/auto_transport.h"
#include "runtime/transport/select/transport_mode.h"
#include "runtime/transport/tcp/tcp_transport.h"
#include "worker/serve/rdma_options.h"

namespace reigen::worker {
namespace {

using transport::Transport;
using transport::TransportMode;

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

StatusOr<std::unique_ptr<Transport>> MakeTcp(const launch::GuardStart& start,
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
  return std::unique_ptr<Transport>(std::move(transport));
}

StatusOr<std::unique_ptr<Transport>> MakeRdma(const launch::GuardStart& start,
                                              const std::string& local_address) {
  const auto variable = [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  REIGEN_ASSIGN_OR_RETURN(transport::rdma::RdmaOptions options, MakeRdmaOptions(start, variable));
  options.bind_addresses = {local_address};
  REIGEN_ASSIGN_OR_RETURN(options.ports, ParsePorts(start.options().port_range()));
  REIGEN_RETURN_IF_ERROR(transport::rdma::CheckLockedMemory(transport::rdma::ReadLockedMemory(),
                                                            start.options().scratch_bytes()));
  REIGEN_ASSIGN_OR_RETURN(auto verbs, transport::rdma::MakeRealVerbs());
  REIGEN_ASSIGN_OR_RETURN(auto transport,
                          transport::rdma::RdmaTransport::Create(options, std::move(verbs)));
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace

StatusOr<std::unique_ptr<Transport>> MakeTransport(const launch::GuardStart& start,
                                                   const std::string& local_address) {
  REIGEN_ASSIGN_OR_RETURN(TransportMode mode,
                          transport::ParseTransportMode(start.options().transport()));
  if (mode == TransportMode::kAuto && start.loopback_only()) {
    REIGEN_INFO("host={} links over tcp: all hosts are this machine", start.host().host());
    mode = TransportMode::kTcp;
  }
  return transport::SelectTransport(
      mode, start.host().name(), [&] { return MakeTcp(start, local_address); },
      [&] { return MakeRdma(start, local_address); });
}

}  // namespace reigen::worker
