#include "runtime/transport/rdma/choice.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <tuple>

#include "runtime/transport/frame.h"

namespace reigen::transport::rdma {
namespace {

constexpr uint16_t kFullMember = 0x8000;
constexpr uint16_t kDefaultPartition = 0x7fff;
// An address vector has 8 bits for it.
constexpr int kMaxGidIndex = 255;
constexpr uint32_t kMinMtuBytes = 256;
constexpr uint32_t kMaxMtuBytes = 4096;

std::string Names(const std::vector<Candidate>& candidates) {
  std::string names;
  for (const Candidate& candidate : candidates) {
    names += (names.empty() ? "" : ", ") + candidate.name;
  }
  return names;
}

std::vector<Gid> GidsOf(const std::vector<std::string>& networks) {
  std::vector<Gid> gids;
  for (const std::string& address : networks) {
    if (const std::optional<Gid> gid = GidOfAddress(address)) gids.push_back(*gid);
  }
  return gids;
}

std::string Hex(uint16_t number) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%04x", number);
  return text;
}

bool Contains(const std::vector<Gid>& gids, const Gid& gid) {
  return std::find(gids.begin(), gids.end(), gid) != gids.end();
}

// "mlx5_0:2" -> "mlx5_0", 2. A port 0 means any.
std::pair<std::string, int> ParseDevice(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return {text, 0};
  int port = -1;
  for (const char c : text.substr(colon + 1)) {
    if (c < '0' || c > '9' || port > 255) return {text, -1};
    port = std::max(port, 0) * 10 + (c - '0');
  }
  return {text.substr(0, colon), port};
}

// A port without an address of its own is not used by links. Its MTU comes later.
StatusOr<RailChoice> Usable(const std::string& device, const PortInfo& port, const Wish& wish) {
  const std::string name = device + ":" + std::to_string(port.number);
  if (!port.active) {
    return FailedPrecondition(name + " is not active (" + port.state +
                              "): is the cable in, or its network interface up?");
  }
  RailChoice rail;
  rail.device = device;
  rail.port = port;
  const StatusOr<GidEntry> gid = ChooseGid(port, wish);
  if (!gid.ok()) return Annotate(gid.status(), name);
  rail.gid = *gid;
  const StatusOr<uint16_t> pkey = ChoosePkey(port, wish.pkey);
  if (!pkey.ok()) return Annotate(pkey.status(), name);
  rail.pkey_index = *pkey;
  return rail;
}

// Why ports cannot be used.
struct WhyNot {
  std::string text;
  bool wish = false;  // one of them could be, if it were not for what was asked for
  std::string of_network;  // the same of one that is on the job's network

  void Add(const Status& status) {
    text += (text.empty() ? "" : "; ") + Message(status);
    wish = wish || status.code() == StatusCode::kInvalidArgument;
  }
};

bool OnNetwork(const PortInfo& port, const Wish& wish) {
  const std::vector<Gid> here = GidsOf(wish.networks);
  return std::any_of(port.gids.begin(), port.gids.end(),
                     [&](const GidEntry& entry) { return Contains(here, entry.gid); });
}

// Every usable port of the device; why each of the others is not goes to `why_not`.
std::vector<RailChoice> PortsOf(const Candidate& candidate, int only_port, const Wish& wish,
                                WhyNot& why_not) {
  if (!candidate.status.ok()) {
    why_not.Add(candidate.status);
    return {};
  }
  std::vector<RailChoice> rails;
  for (const PortInfo& port : candidate.info.ports) {
    if (only_port != 0 && port.number != only_port) continue;
    StatusOr<RailChoice> rail = Usable(candidate.name, port, wish);
    if (rail.ok()) {
      rails.push_back(std::move(rail).value());
    } else {
      why_not.Add(rail.status());
      const bool wished = rail.status().code() == StatusCode::kInvalidArgument;
      if (wished && OnNetwork(port, wish)) why_not.of_network = Message(rail.status());
    }
  }
  return rails;
}

bool Has(const std::vector<RailChoice>& rails, const RailChoice& rail) {
  return std::any_of(rails.begin(), rails.end(), [&](const RailChoice& each) {
    return each.device == rail.device && each.port.number == rail.port.number;
  });
}

constexpr char kLeaveDevicesOut[] =
    "; without --rdma-devices (REIGEN_RDMA_DEVICES) they are chosen, --transport tcp needs none";

// Of a device that was named. InvalidArgument is for what nothing but another wish mends.
Status CannotBeUsed(const std::string& device, const WhyNot& why_not) {
  const bool mistake = why_not.text.empty() || why_not.wish;
  return MakeStatus(mistake ? StatusCode::kInvalidArgument : StatusCode::kFailedPrecondition,
                    "RDMA device " + device + " cannot be used: " +
                        (why_not.text.empty() ? "it has no such port" : why_not.text) +
                        kLeaveDevicesOut);
}

StatusOr<Choice> ChooseWished(const std::vector<Candidate>& candidates, const Wish& wish) {
  Choice choice;
  choice.reason = "asked for";
  Status broken;  // of the first that is; a mistake with another is told before it
  for (const std::string& text : wish.devices) {
    const auto [name, port] = ParseDevice(text);
    const auto at = std::find_if(candidates.begin(), candidates.end(),
                                 [&, n = name](const Candidate& each) { return each.name == n; });
    if (at == candidates.end()) {
      return InvalidArgument("there is no RDMA device " + text + " (there " +
                             (candidates.empty() ? "is none" : "are: " + Names(candidates)) + ")" +
                             kLeaveDevicesOut);
    }
    WhyNot why_not;
    const std::vector<RailChoice> rails = PortsOf(*at, port, wish, why_not);
    if (rails.empty()) {
      const Status status = CannotBeUsed(text, why_not);
      if (status.code() == StatusCode::kInvalidArgument) return status;
      if (broken.ok()) broken = status;
    }
    for (const RailChoice& rail : rails) {
      if (!Has(choice.rails, rail)) choice.rails.push_back(rail);
    }
  }
  if (!broken.ok()) return broken;
  return choice;
}

// Of ports that are chosen: one that cannot have what was asked for is not given up for
// another, which may be of another network.
Status SetMtus(const Wish& wish, std::vector<RailChoice>& rails) {
  for (RailChoice& rail : rails) {
    const StatusOr<uint32_t> mtu_bytes = ChooseMtu(rail.port, wish.mtu_bytes);
    if (!mtu_bytes.ok()) {
      return Annotate(mtu_bytes.status(), rail.device + ":" + std::to_string(rail.port.number));
    }
    rail.mtu_bytes = *mtu_bytes;
  }
  return OkStatus();
}

// Keeps the rails for which `keep` holds, if there are any.
template <typename Keep>
bool Narrow(std::vector<RailChoice>& rails, Keep keep) {
  std::vector<RailChoice> kept;
  std::copy_if(rails.begin(), rails.end(), std::back_inserter(kept), keep);
  if (kept.empty()) return false;
  rails = std::move(kept);
  return true;
}

}  // namespace

StatusOr<Choice> ChooseRails(const std::vector<Candidate>& candidates, const Wish& wish) {
  if (candidates.empty() && wish.devices.empty()) {
    return NotFound(
        "no RDMA device: this machine has neither such a card with its driver nor soft-RoCE; in a "
        "container, /dev/infiniband must be given to it");
  }
  Choice choice;
  if (!wish.devices.empty()) {
    REIGEN_ASSIGN_OR_RETURN(choice, ChooseWished(candidates, wish));
  } else {
    WhyNot why_not;
    for (const Candidate& candidate : candidates) {
      const std::vector<RailChoice> rails = PortsOf(candidate, 0, wish, why_not);
      choice.rails.insert(choice.rails.end(), rails.begin(), rails.end());
    }
    if (choice.rails.empty()) {
      const StatusCode code =
          why_not.wish ? StatusCode::kInvalidArgument : StatusCode::kFailedPrecondition;
      return MakeStatus(code, "no RDMA device can be used: " + why_not.text);
    }
    const std::vector<Gid> here = GidsOf(wish.networks);
    if (Narrow(choice.rails, [&](const RailChoice& r) { return Contains(here, r.gid.gid); })) {
      choice.reason = "on the job's network";
    } else if (!why_not.of_network.empty()) {
      return InvalidArgument("the RDMA port on the job's network cannot be used: " +
                             why_not.of_network);
    } else {
      double fastest = 0;
      for (const RailChoice& rail : choice.rails) fastest = std::max(fastest, rail.port.gbits_per_s);
      Narrow(choice.rails, [&](const RailChoice& r) { return r.port.gbits_per_s >= fastest; });
      choice.reason = "the fastest; none has an address of the job's network";
    }
  }
  if (choice.rails.size() > kMaxRails) choice.rails.resize(kMaxRails);
  REIGEN_RETURN_IF_ERROR(SetMtus(wish, choice.rails));
  return choice;
}

StatusOr<RailChoice> ChooseAgain(const Candidate& candidate, int port, const Wish& wish) {
  WhyNot why_not;
  std::vector<RailChoice> rails = PortsOf(candidate, port, wish, why_not);
  REIGEN_RETURN_IF_ERROR(SetMtus(wish, rails));
  if (!rails.empty()) return std::move(rails.front());
  return FailedPrecondition(why_not.text.empty() ? candidate.name + " has no port " +
                                                       std::to_string(port) + " any more"
                                                 : why_not.text);
}

StatusOr<GidEntry> ChooseGid(const PortInfo& port, const Wish& wish) {
  if (wish.gid_index >= 0) {
    if (wish.gid_index > kMaxGidIndex) return InvalidArgument("a GID index is at most 255");
    for (const GidEntry& entry : port.gids) {
      if (entry.index == wish.gid_index && !IsZero(entry.gid)) return entry;
    }
    return InvalidArgument("it has no GID with index " + std::to_string(wish.gid_index) +
                           ", which was asked for (show_gids, or ibv_devinfo -v, lists them)");
  }
  const std::vector<Gid> here = GidsOf(wish.networks);
  const bool ipv4 = here.empty() || IsIpv4(here.front());
  const auto rank = [&](const GidEntry& entry) {
    return std::make_tuple(!IsLinkLocal(entry.gid), entry.type == GidType::kRoceV2,
                           Contains(here, entry.gid), IsIpv4(entry.gid) == ipv4, -entry.index);
  };
  const GidEntry* best = nullptr;
  for (const GidEntry& entry : port.gids) {
    if (IsZero(entry.gid) || entry.index > kMaxGidIndex) continue;
    if (port.layer == LinkLayer::kInfiniBand) return entry;
    if (best == nullptr || rank(entry) > rank(*best)) best = &entry;
  }
  if (best == nullptr) {
    return FailedPrecondition("it has no GID: its network interface has no address");
  }
  return *best;
}

StatusOr<uint16_t> ChoosePkey(const PortInfo& port, const std::optional<uint16_t>& wish) {
  const uint16_t wanted = wish.value_or(kDefaultPartition) & kDefaultPartition;
  std::optional<size_t> found;
  for (size_t i = 0; i < port.pkeys.size(); ++i) {
    const uint16_t pkey = port.pkeys[i];
    if ((pkey & kDefaultPartition) != wanted || pkey == 0) continue;
    if (!found || ((pkey & kFullMember) != 0 && (port.pkeys[*found] & kFullMember) == 0)) found = i;
  }
  if (found) return static_cast<uint16_t>(*found);
  if (!wish) return uint16_t{0};
  std::string there;
  for (const uint16_t pkey : port.pkeys) {
    if (pkey != 0) there += (there.empty() ? "" : ", ") + Hex(pkey);
  }
  return InvalidArgument("it is not in the partition with PKey " + Hex(*wish) +
                         ", which was asked for (it is in: " + (there.empty() ? "none" : there) +
                         "; REIGEN_RDMA_PKEY names another, the subnet manager adds the port)");
}

StatusOr<uint32_t> ChooseMtu(const PortInfo& port, uint32_t wish_bytes) {
  if (wish_bytes == 0) return port.active_mtu_bytes;
  if (!std::has_single_bit(wish_bytes) || wish_bytes < kMinMtuBytes || wish_bytes > kMaxMtuBytes) {
    return InvalidArgument("a path MTU of " + std::to_string(wish_bytes) +
                           " was asked for; it is 256, 512, 1024, 2048 or 4096");
  }
  if (wish_bytes > port.active_mtu_bytes) {
    return InvalidArgument("a path MTU of " + std::to_string(wish_bytes) +
                           " was asked for, and the port's is " +
                           std::to_string(port.active_mtu_bytes) +
                           "; ask for less, or raise the MTU of its network interface");
  }
  return wish_bytes;
}

std::string ToString(const RailChoice& rail) {
  const bool ethernet = rail.port.layer == LinkLayer::kEthernet;
  const std::string kind = !ethernet                            ? "InfiniBand"
                           : rail.gid.type == GidType::kRoceV2 ? "RoCE v2"
                                                                : "RoCE v1";
  return rail.device + ":" + std::to_string(rail.port.number) + " gid " +
         std::to_string(rail.gid.index) + " " + ToString(rail.gid.gid) + " (" + kind + ", MTU " +
         std::to_string(rail.mtu_bytes) + ")";
}

}  // namespace reigen::transport::rdma
