// What two ports must agree on, and how long a path is trusted. Pure.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_PATH_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_PATH_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/rdma_kind.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/rdma/verbs_types.h"

namespace reigen::transport::rdma {

// A port as its peers must know it.
struct RailAddress {
  std::string device;
  uint8_t port = 1;
  LinkLayer layer = LinkLayer::kEthernet;
  GidType gid_type = GidType::kRoceV2;
  Gid gid;
  uint16_t lid = 0;
  bool global_only = false;  // see PortInfo
  uint16_t pkey = kDefaultPkey;
  uint32_t mtu_bytes = 0;
  uint32_t max_message_bytes = 0;
  uint8_t max_queues = 1;  // for data, of one link, whose completions it can hold; 0: it is down

  bool operator==(const RailAddress&) const = default;
};

// "anna (mlx5_0:1 10.0.0.1)": host, device, its port's number, address.
std::string EndName(const std::string& host, const RailAddress& rail);

// One way between two hosts: index of the rail here, and of the one there.
struct RailPair {
  int local = 0;
  int remote = 0;

  bool operator==(const RailPair&) const = default;
};

// "InfiniBand with PKey 0xffff", "InfiniBand of subnet fec0:: with PKey 0xffff" (if it is not the
// default one), "RoCE v2 over IPv4": whom it can talk to (rdma_kind.h). Links do not cross
// subnets: a LID means nothing in another.
std::string KindOf(const RailAddress& rail);

// Which of the ways a message takes, by bit: those whose two ports have the memory; of
// them the ones that are near at both ends, else at one, else all.
uint32_t ChooseWays(std::span<const RailPair> ways, const Rails& source, const Rails& target);

// Whether ChooseWays() finds any of the first kind.
bool NearAtBothEnds(std::span<const RailPair> ways, const Rails& source, const Rails& target);

// Whether packets are routed by GID: always on Ethernet, on InfiniBand if a port of a
// virtual machine, say, demands it.
bool NeedsGlobalRoute(const RailAddress& local, const RailAddress& remote);

// How often, and how long apart, a packet is sent again until a path is lost.
struct RetryPlan {
  uint8_t timeout_exponent = 17;  // 4.096 us * 2^this
  uint8_t retries = 6;            // 7 means without end on some devices

  Duration total() const;
};

// The plan that lasts closest to `budget` without being longer than 1.1 times it.
RetryPlan PlanRetries(Duration budget);

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_PATH_H_
