// Which transport a link takes. Pure.
#ifndef REIGEN_RUNTIME_TRANSPORT_SELECT_TRANSPORT_MODE_H_
#define REIGEN_RUNTIME_TRANSPORT_SELECT_TRANSPORT_MODE_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace reigen::transport {

enum class TransportMode { kAuto, kTcp, kRdma };

// "auto" (also empty), "tcp", "rdma".
StatusOr<TransportMode> ParseTransportMode(const std::string& text);

struct LinkChoice {
  bool rdma = false;
  std::string reason;  // why it is not RDMA though this end can
};

// For a link from this end, with its name and addresses, to a peer; `rdma_here` says whether
// this end can. Both ends come to the same: an end that can says in its addresses with
// which kinds of ports.
struct LinkEnd {
  std::string name;
  std::vector<std::string> addresses;
};
LinkChoice ChooseLink(TransportMode mode, const Status& rdma_here, const LinkEnd& here,
                      const LinkEnd& peer);

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_SELECT_TRANSPORT_MODE_H_
