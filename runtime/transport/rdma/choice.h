// Which devices, ports and addresses a host's links use. Pure.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_CHOICE_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_CHOICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/rdma/verbs_types.h"

namespace reigen::transport::rdma {

// What people asked for.
struct Wish {
  std::vector<std::string> devices;   // "mlx5_0", "mlx5_0:2" (port); empty: choose
  int gid_index = -1;                 // -1: choose
  std::optional<uint16_t> pkey;       // none: the default partition
  uint32_t mtu_bytes = 0;             // of paths; 0: the port's
  std::vector<std::string> networks;  // this host's addresses on the job's network
};

// A device of the machine, or why it cannot be used.
struct Candidate {
  std::string name;
  Status status;
  DeviceInfo info;
};

// A port that links may use.
struct RailChoice {
  std::string device;
  PortInfo port;
  GidEntry gid;
  uint16_t pkey_index = 0;
  uint32_t mtu_bytes = 0;  // of paths from here, at most
};

struct Choice {
  std::vector<RailChoice> rails;  // at most kMaxRails
  std::string reason;             // why these; for the log
  // What is not as good as it was meant to be, with what to do.
  std::vector<std::string> warnings;
  // Ports that would be rails, too, by what was asked for and their layer, but cannot: they are
  // down, say. None where rails are those of the job's network.
  std::vector<PortName> left_out;
  // Those that could, but others are faster, or they are too many.
  std::vector<PortName> spare;
};

// Without wishes: the ports that have one of the addresses of the job's network, or those of
// InfiniBand if they are faster: there the subnet says who is reached. If none has such an
// address, the fastest active ones. A RoCE port with nothing but a link-local address is none
// to choose unless that is the job's, or its device or GID was asked for: to connect, its
// peers' interfaces must be found, and nothing says that they are on its network.
//
// A device that was asked for and is broken is left, with a warning, if another one is good.
//
// Errors: InvalidArgument: what was asked for cannot be had: there is no such device or port
//         here, or none that meets the wish;
//         NotFound: there is no device, and none was named;
//         FailedPrecondition: none (of those asked for) can be used: its port is down, it
//         cannot be opened. All say which there are and what to do.
StatusOr<Choice> ChooseRails(const std::vector<Candidate>& candidates, const Wish& wish);

// A port that was chosen, as it is now.
StatusOr<RailChoice> ChooseAgain(const Candidate& candidate, int port, const Wish& wish);

// InfiniBand: the first. RoCE, first difference counts: not link-local, v2, an
// address of the job's network, the family of that network, the lowest index.
StatusOr<GidEntry> ChooseGid(const PortInfo& port, const Wish& wish);

// Its index. A full member before a limited one; without a wish, where the port is not in the
// default partition, the first that it is in.
StatusOr<uint16_t> ChoosePkey(const PortInfo& port, const std::optional<uint16_t>& wish);
// What was chosen; the default one of a port that has none.
uint16_t PkeyOf(const RailChoice& rail);

// A path MTU that is one, and no more than the port's.
StatusOr<uint32_t> ChooseMtu(const PortInfo& port, uint32_t wish_bytes);

std::string ToString(const RailChoice& rail);  // "rxe0:1 gid 1 10.0.0.1 (RoCE v2, MTU 1024)"

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_CHOICE_H_
