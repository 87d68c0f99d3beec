#include "worker/serve/make_transport.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/transport/rdma/rdma_transport.h"
#include "runtime/transport/rdma/real/real_verbs.h"
#include "runtime/transport/rdma/words.h"
#include "runtime/transport/select/transport_mode.h"
#include "runtime/transport/tcp/tcp_transport.h"
#include "worker/serve/rdma_options.h"
#include "worker/serve/tcp_options.h"

namespace reigen::worker {
namespace {

using transport::Transport;
using transport::TransportMode;

StatusOr<std::unique_ptr<Transport>> MakeTcp(const launch::GuardStart& start,
                                             const std::string& local_address) {
  REIGEN_ASSIGN_OR_RETURN(const transport::TcpOptions options,
                          MakeTcpOptions(start, local_address));
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
  REIGEN_ASSIGN_OR_RETURN(auto verbs, transport::rdma::MakeRealVerbs());
  REIGEN_ASSIGN_OR_RETURN(auto transport,
                          transport::rdma::RdmaTransport::Create(options, std::move(verbs)));
  // Before any host counts on RDMA here: the limit must hold links to all hosts.
  const auto links = static_cast<size_t>(start.hosts() - 1);
  const uint64_t needed_bytes =
      transport::rdma::LockedBytes(start.options().scratch_bytes(), transport->devices().size(),
                                   links, transport->QueuesOfALink());
  REIGEN_RETURN_IF_ERROR(transport::rdma::CheckLockedMemory(transport::rdma::ReadLockedMemory(),
                                                            needed_bytes));
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace

StatusOr<std::unique_ptr<Transport>> MakeTransport(const launch::GuardStart& start,
                                                   const std::string& local_address,
                                                   transport::WithoutRdmaFn without_rdma) {
  REIGEN_ASSIGN_OR_RETURN(TransportMode mode,
                          transport::ParseTransportMode(start.options().transport()));
  if (mode == TransportMode::kAuto && start.loopback_only()) {
    REIGEN_INFO("host={} links over tcp: all hosts are this machine", start.host().host());
    mode = TransportMode::kTcp;
  }
  return transport::SelectTransport(
      mode, start.host().name(), [&] { return MakeTcp(start, local_address); },
      [&] { return MakeRdma(start, local_address); }, std::move(without_rdma));
}

}  // namespace reigen::worker
