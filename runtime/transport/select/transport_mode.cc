#include "runtime/transport/select/transport_mode.h"

#include "runtime/base/rdma_kind.h"

namespace reigen::transport {

StatusOr<TransportMode> ParseTransportMode(const std::string& text) {
  if (text.empty() || text == "auto") return TransportMode::kAuto;
  if (text == "tcp") return TransportMode::kTcp;
  if (text == "rdma") return TransportMode::kRdma;
  return InvalidArgument("transport '" + text + "': there are auto, tcp, rdma");
}

LinkChoice ChooseLink(TransportMode mode, const Status& rdma_here, const LinkEnd& here,
                      const LinkEnd& peer) {
  if (mode == TransportMode::kTcp) return {};
  if (mode == TransportMode::kRdma) return {true, ""};
  // That this end cannot was said once, when it was found.
  if (!rdma_here.ok()) return {};
  const std::string why_not = WhyNotRdma({here.name, RdmaKindsIn(here.addresses)},
                                         {peer.name, RdmaKindsIn(peer.addresses)});
  if (why_not.empty()) return {true, ""};
  return {false, "the link to " + peer.name + " goes over TCP: " + why_not};
}

}  // namespace reigen::transport
