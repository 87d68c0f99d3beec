// Of one port: its address, partition and MTU.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <tuple>

#include "runtime/base/rdma_kind.h"
#include "runtime/transport/rdma/choice.h"

namespace reigen::transport::rdma {
namespace {

constexpr uint16_t kDefaultPartition = kDefaultPkey & ~kFullMember;
// An address vector has 8 bits for it.
constexpr int kMaxGidIndex = 255;
constexpr uint32_t kMinMtuBytes = 256;
constexpr uint32_t kMaxMtuBytes = 4096;

std::string Hex(uint16_t number) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%04x", number);
  return text;
}

}  // namespace

StatusOr<GidEntry> ChooseGid(const PortInfo& port, const Wish& wish) {
  if (wish.gid_index >= 0) {
    if (wish.gid_index > kMaxGidIndex) return InvalidArgument("a GID index is at most 255");
    for (const GidEntry& entry : port.gids) {
      if (entry.index == wish.gid_index && !IsZero(entry.gid)) return entry;
    }
    return InvalidArgument("it has no GID with index " + std::to_string(wish.gid_index) +
                           ", which was asked for (show_gids, or ibv_devinfo -v, lists them)");
  }
  const std::vector<Gid> here = GidsOfAddresses(wish.networks);
  const bool ipv4 = here.empty() || IsIpv4(here.front());
  const auto rank = [&](const GidEntry& entry) {
    return std::make_tuple(!IsLinkLocal(entry.gid), entry.type == GidType::kRoceV2,
                           IsAmong(here, entry.gid), IsIpv4(entry.gid) == ipv4, -entry.index);
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
  if (!wish) {
    const auto first = std::find_if(port.pkeys.begin(), port.pkeys.end(),
                                    [](uint16_t pkey) { return pkey != 0; });
    return static_cast<uint16_t>(first == port.pkeys.end() ? 0 : first - port.pkeys.begin());
  }
  std::string there;
  for (const uint16_t pkey : port.pkeys) {
    if (pkey != 0) there += (there.empty() ? "" : ", ") + Hex(pkey);
  }
  return InvalidArgument("it is not in the partition with PKey " + Hex(*wish) +
                         ", which was asked for (it is in: " + (there.empty() ? "none" : there) +
                         "; REIGEN_RDMA_PKEY names another, the subnet manager adds the port)");
}

uint16_t PkeyOf(const RailChoice& rail) {
  const std::vector<uint16_t>& pkeys = rail.port.pkeys;
  if (rail.pkey_index >= pkeys.size() || pkeys[rail.pkey_index] == 0) return kDefaultPkey;
  return pkeys[rail.pkey_index];
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
