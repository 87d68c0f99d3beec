// Which hosts can talk over RDMA, as they tell each other before the first link. Pure.
#ifndef REIGEN_RUNTIME_BASE_RDMA_KIND_H_
#define REIGEN_RUNTIME_BASE_RDMA_KIND_H_

#include <cstdint>
#include <string>
#include <vector>

namespace reigen {

// The kind of a port: its network, and its partition there if that says anything:
// "RoCE v2 over IPv4", "InfiniBand with PKey 0xffff", "InfiniBand of subnet fec0:: with PKey
// 0xffff".
inline constexpr uint16_t kDefaultPkey = 0xffff;  // the default partition's full member
inline constexpr uint16_t kFullMember = 0x8000;   // the bit; the others are the partition
std::string RdmaKind(const std::string& network, uint16_t pkey);

// Of the same network (without a PKey it is the default one), in the same partition, and not
// both limited members of it.
bool RdmaKindsTalk(const std::string& a, const std::string& b);

// Hosts that have RDMA name the kinds of their ports among the addresses of their links, as
// "rdma-kind:RoCE v2 over IPv4".
std::vector<std::string> RdmaKindAddresses(const std::vector<std::string>& kinds);

// What was named so; none: that host has no RDMA.
std::vector<std::string> RdmaKindsIn(const std::vector<std::string>& link_addresses);

// Two hosts, each with its name in messages and its kinds: "", or why a link between them
// cannot be RDMA and, if both have it, what to do. Both ends come to the same.
struct RdmaEnd {
  std::string name;
  std::vector<std::string> kinds;
};
std::string WhyNotRdma(const RdmaEnd& a, const RdmaEnd& b);

// What to do about kinds of two ends that do not talk.
std::string RdmaKindRemedy(const std::vector<std::string>& a, const std::vector<std::string>& b);

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_RDMA_KIND_H_
