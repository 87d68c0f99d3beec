// Which hosts can talk over RDMA, as they tell each other before the first link. Pure.
#ifndef REIGEN_RUNTIME_BASE_RDMA_KIND_H_
#define REIGEN_RUNTIME_BASE_RDMA_KIND_H_

#include <string>
#include <vector>

namespace reigen {

// A port speaks with those of its kind only: "InfiniBand", "RoCE v2 over IPv4". Hosts that
// have RDMA name the kinds of their ports among the addresses of their links, as
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

// What to do about ports of different kinds.
extern const char kRdmaKindRemedy[];

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_RDMA_KIND_H_
