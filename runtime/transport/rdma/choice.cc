#include "runtime/transport/rdma/choice.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "runtime/transport/frame.h"
#include "runtime/transport/rdma/best_ports.h"

namespace reigen::transport::rdma {
namespace {

std::string Names(const std::vector<Candidate>& candidates) {
  std::string names;
  for (const Candidate& candidate : candidates) {
    names += (names.empty() ? "" : ", ") + candidate.name;
  }
  return names;
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

// Whether it is for people to say that peers are reached from there.
bool IsUnproven(const PortInfo& port, const Gid& gid, const Wish& wish) {
  return port.layer == LinkLayer::kEthernet && IsLinkLocal(gid) && wish.devices.empty() &&
         wish.gid_index < 0 && !IsAmong(GidsOfAddresses(wish.networks), gid);
}

// A port without an address of its own is not used by links. Its MTU comes later.
StatusOr<RailChoice> Usable(const std::string& device, const PortInfo& port, const Wish& wish) {
  const std::string name = device + ":" + std::to_string(port.number);
  if (!port.active) {
    return FailedPrecondition(name + " is not active (" + port.state +
                              "): is the cable in, or its network interface up?");
  }
  if (port.layer == LinkLayer::kUnspecified) {
    return FailedPrecondition(name + " is a port of neither InfiniBand nor Ethernet");
  }
  RailChoice rail;
  rail.device = device;
  rail.port = port;
  const StatusOr<GidEntry> gid = ChooseGid(port, wish);
  if (!gid.ok()) return Annotate(gid.status(), name);
  if (IsUnproven(port, gid->gid, wish)) {
    return FailedPrecondition(name + ": its only address is link-local (" + ToString(gid->gid) +
                              "), at which other hosts may not reach it: give its network "
                              "interface an address, or ask for it (--rdma-devices)");
  }
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
  const std::vector<Gid> here = GidsOfAddresses(wish.networks);
  return std::any_of(port.gids.begin(), port.gids.end(),
                     [&](const GidEntry& entry) { return IsAmong(here, entry.gid); });
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

bool Has(const std::vector<RailChoice>& rails, const std::string& device, uint8_t port) {
  return std::any_of(rails.begin(), rails.end(), [&](const RailChoice& each) {
    return each.device == device && each.port.number == port;
  });
}

constexpr char kLeaveDevicesOut[] =
    "; without --rdma-devices (REIGEN_RDMA_DEVICES) they are chosen, --transport tcp needs none";

// Of a device that was named.
std::string CannotBeUsed(const std::string& device, const WhyNot& why_not) {
  return "RDMA device " + device +
         " cannot be used: " + (why_not.text.empty() ? "it has no such port" : why_not.text);
}

StatusOr<Choice> ChooseWished(const std::vector<Candidate>& candidates, const Wish& wish) {
  Choice choice;
  choice.reason = "asked for";
  std::string broken;  // the first that is; a mistake with another is told before it
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
      const std::string why = CannotBeUsed(text, why_not);
      // Nothing but another wish mends that.
      if (why_not.text.empty() || why_not.wish) return InvalidArgument(why + kLeaveDevicesOut);
      if (broken.empty()) broken = why;
      choice.warnings.push_back(why + "; links use the others that were asked for");
    }
    for (const RailChoice& rail : rails) {
      if (!Has(choice.rails, rail.device, rail.port.number)) choice.rails.push_back(rail);
    }
  }
  if (choice.rails.empty()) return FailedPrecondition(broken + kLeaveDevicesOut);
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

bool IsWished(const Wish& wish, const std::string& device, int port) {
  if (wish.devices.empty()) return true;
  return std::any_of(wish.devices.begin(), wish.devices.end(), [&](const std::string& text) {
    const auto [name, number] = ParseDevice(text);
    return name == device && (number == 0 || number == port);
  });
}

// Ports that are not among the rails: those that could be, and those that cannot.
void SetLeftOut(const std::vector<Candidate>& candidates, const Wish& wish,
                const std::vector<RailChoice>& usable, Choice& choice) {
  const std::vector<RailChoice>& rails = choice.rails;
  for (const Candidate& candidate : candidates) {
    // What a device has that cannot be opened is not known, and it may not be this container's:
    // it counts where it was asked for, unless links could not use it anyhow.
    const bool closed = !candidate.status.ok() && candidate.info.ports.empty() &&
                        candidate.status.code() != StatusCode::kFailedPrecondition;
    const bool named = !wish.devices.empty() && IsWished(wish, candidate.name, 1);
    if (closed && named) choice.left_out.push_back({candidate.name, 1});
    for (const PortInfo& port : candidate.info.ports) {
      const bool alike = std::any_of(rails.begin(), rails.end(), [&](const RailChoice& rail) {
        return rail.port.layer == port.layer;
      });
      const bool taken = Has(rails, candidate.name, port.number);
      if (!alike || taken || !IsWished(wish, candidate.name, port.number)) continue;
      (Has(usable, candidate.name, port.number) ? choice.spare : choice.left_out)
          .push_back({candidate.name, port.number});
    }
  }
}

// The library's order is that in which the kernel found the devices, on each host.
void SortByName(std::vector<RailChoice>& rails) {
  const auto key = [](const RailChoice& rail) {
    const size_t end = rail.device.find_last_not_of("0123456789") + 1;
    const std::string digits = rail.device.substr(end);
    return std::make_tuple(rail.device.substr(0, end), digits.size(), digits, rail.port.number);
  };
  std::stable_sort(rails.begin(), rails.end(), [&](const RailChoice& a, const RailChoice& b) {
    return key(a) < key(b);
  });
}

// Of which nobody asked for any.
StatusOr<std::vector<RailChoice>> AllUsable(const std::vector<Candidate>& candidates,
                                            const Wish& wish) {
  WhyNot why_not;
  std::vector<RailChoice> usable;
  for (const Candidate& candidate : candidates) {
    const std::vector<RailChoice> rails = PortsOf(candidate, 0, wish, why_not);
    usable.insert(usable.end(), rails.begin(), rails.end());
  }
  if (usable.empty()) {
    const StatusCode code =
        why_not.wish ? StatusCode::kInvalidArgument : StatusCode::kFailedPrecondition;
    return MakeStatus(code, "no RDMA device can be used: " + why_not.text);
  }
  const std::vector<Gid> here = GidsOfAddresses(wish.networks);
  const bool one_on_network = std::any_of(
      usable.begin(), usable.end(), [&](const RailChoice& r) { return IsAmong(here, r.gid.gid); });
  if (!one_on_network && !why_not.of_network.empty()) {
    return InvalidArgument("the RDMA port on the job's network cannot be used: " +
                           why_not.of_network);
  }
  SortByName(usable);
  return usable;
}

}  // namespace

StatusOr<Choice> ChooseRails(const std::vector<Candidate>& candidates, const Wish& wish) {
  if (candidates.empty() && wish.devices.empty()) {
    return NotFound(
        "no RDMA device: this machine has neither such a card with its driver nor soft-RoCE; in a "
        "container, /dev/infiniband must be given to it");
  }
  Choice choice;
  std::vector<RailChoice> usable;
  if (!wish.devices.empty()) {
    REIGEN_ASSIGN_OR_RETURN(choice, ChooseWished(candidates, wish));
    usable = choice.rails;
  } else {
    REIGEN_ASSIGN_OR_RETURN(usable, AllUsable(candidates, wish));
    choice.rails = usable;
    KeepBest(wish, choice);
  }
  if (choice.rails.size() > kMaxRails) choice.rails.resize(kMaxRails);
  if (choice.reason != kOfNetwork) SetLeftOut(candidates, wish, usable, choice);
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

}  // namespace reigen::transport::rdma
