#include "runtime/transport/select/transport_mode.h"

#include <algorithm>

namespace reigen::transport {

StatusOr<TransportMode> ParseTransportMode(const std::string& text) {
  if (text.empty() || text == "auto") return TransportMode::kAuto;
  if (text == "tcp") return TransportMode::kTcp;
  if (text == "rdma") return TransportMode::kRdma;
  return InvalidArgument("transport '" + text + "': there are auto, tcp, rdma");
}

LinkChoice ChooseLink(TransportMode mode, const Status& rdma_here, const std::string& peer,
                      const std::vector<std::string>& peer_addresses) {
  if (mode == TransportMode::kTcp) return {};
  if (mode == TransportMode::kRdma) return {true, ""};
  // That this end cannot was said once, when it was found.
  if (!rdma_here.ok()) return {};
  const bool there = std::any_of(peer_addresses.begin(), peer_addresses.end(),
                                 [](const std::string& a) { return a.starts_with("rdma:"); });
  if (there) return {true, ""};
  return {false, "the link to " + peer + " goes over TCP: there is no RDMA at that end"};
}

}  // namespace reigen::transport
