#include "runtime/transport/rdma/best_ports.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/base/rdma_kind.h"
#include "runtime/transport/rdma/gid.h"
#include "runtime/transport/rdma/verbs_types.h"

namespace reigen::transport::rdma {
namespace {

double SpeedOf(const std::vector<RailChoice>& rails) {
  double gbits_per_s = 0;
  for (const RailChoice& rail : rails) gbits_per_s += rail.port.gbits_per_s;
  return gbits_per_s;
}

// "mlx5_0:1,mlx5_1:1", as for --rdma-devices.
std::string PortNames(const std::vector<RailChoice>& rails) {
  std::string names;
  for (const RailChoice& rail : rails) {
    names += (names.empty() ? "" : ",") + rail.device + ":" + std::to_string(rail.port.number);
  }
  return names;
}

template <typename Keep>
std::vector<RailChoice> Kept(const std::vector<RailChoice>& rails, Keep keep) {
  std::vector<RailChoice> kept;
  std::copy_if(rails.begin(), rails.end(), std::back_inserter(kept), keep);
  return kept;
}

std::vector<RailChoice> Fastest(const std::vector<RailChoice>& rails) {
  double fastest = 0;
  for (const RailChoice& rail : rails) fastest = std::max(fastest, rail.port.gbits_per_s);
  return Kept(rails, [&](const RailChoice& r) { return r.port.gbits_per_s >= fastest; });
}

}  // namespace

void KeepBest(const Wish& wish, Choice& choice) {
  const std::vector<Gid> here = GidsOfAddresses(wish.networks);
  const auto on_network = [&](const RailChoice& rail) { return IsAmong(here, rail.gid.gid); };
  const auto is_ethernet = [](const RailChoice& rail) {
    return rail.port.layer == LinkLayer::kEthernet;
  };
  const std::vector<RailChoice> of_network = Kept(choice.rails, on_network);
  if (of_network.empty()) {
    choice.rails = Fastest(choice.rails);
    choice.reason = "the fastest; none has an address of the job's network";
    return;
  }
  // Limited members of a partition may be all that other hosts have, too: they would not talk.
  const std::vector<RailChoice> infiniband = Fastest(Kept(choice.rails, [&](const RailChoice& rail) {
    return !is_ethernet(rail) && (PkeyOf(rail) & kFullMember) != 0;
  }));
  if (SpeedOf(infiniband) > SpeedOf(of_network)) {
    choice.rails = infiniband;
    choice.reason = "InfiniBand, faster than " + PortNames(of_network) + " " + kOfNetwork;
    return;
  }
  const std::vector<RailChoice> others = Fastest(Kept(choice.rails, [&](const RailChoice& rail) {
    return is_ethernet(rail) && !on_network(rail);
  }));
  if (SpeedOf(others) > SpeedOf(of_network)) {
    const std::string names = PortNames(others);
    choice.warnings.push_back(
        names + " would be faster than " + PortNames(of_network) + " " + kOfNetwork +
        ", and nothing says that other hosts are reached from there: if they are, --rdma-devices " +
        names + " (REIGEN_RDMA_DEVICES), or its like on each host, takes them");
  }
  choice.rails = of_network;
  choice.reason = kOfNetwork;
}

}  // namespace reigen::transport::rdma
