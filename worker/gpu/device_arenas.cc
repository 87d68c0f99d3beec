#include "worker/gpu/device_arenas.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "proto/local/fixed_text.h"

namespace reigen::worker {

using Reach = ArenaEntry::Reach;

local::PeerArena DeviceArenas::PacketOf(const ArenaEntry& entry) {
  local::PeerArena packet;
  packet.bytes = entry.bytes;
  packet.local_rank = static_cast<uint32_t>(entry.owner);
  packet.arena = entry.id;
  local::PutText(entry.bus_id, packet.bus_id);
  std::copy(entry.ipc_handle.begin(), entry.ipc_handle.end(), packet.ipc_handle);
  return packet;
}

bool DeviceArenas::HasAny(int local) const {
  return std::any_of(arenas_.begin(), arenas_.end(),
                     [local](const auto& arena) { return arena.second.owner == local; });
}

std::vector<DeviceArenas::Offer> DeviceArenas::Add(int owner, const DeviceArena& arena) {
  std::vector<Offer> offers;
  if (!HasAny(owner)) {
    for (auto& [base, other] : arenas_) {
      if (other.kind != local::DeviceArenaKind::kTensors) continue;
      other.openings[owner] = {};
      offers.push_back({owner, PacketOf(other)});
    }
  }
  ArenaEntry entry{.owner = owner, .id = arena.id, .base = arena.base, .bytes = arena.bytes,
                   .kind = arena.kind, .ipc_handle = arena.ipc_handle, .bus_id = arena.bus_id,
                   .openings = {}};
  if (entry.kind == local::DeviceArenaKind::kTensors) {
    for (const auto& [base, other] : arenas_) {
      if (other.owner == owner || !entry.openings.emplace(other.owner, ArenaEntry::Opening()).second) {
        continue;
      }
      offers.push_back({other.owner, PacketOf(entry)});
    }
  }
  arenas_.emplace(arena.base, std::move(entry));
  return offers;
}

void DeviceArenas::Opened(int local, int owner, uint32_t arena, const Status& status) {
  for (auto& [base, entry] : arenas_) {
    if (entry.owner != owner || entry.id != arena) continue;
    const auto opening = entry.openings.find(local);
    if (opening == entry.openings.end()) return;
    opening->second = {status.ok() ? Reach::kOpen : Reach::kRefused, Message(status)};
  }
}

void DeviceArenas::GiveUpOpening() {
  for (auto& [base, entry] : arenas_) {
    for (auto& [local, opening] : entry.openings) {
      if (opening.reach == Reach::kAsked) opening = {Reach::kRefused, "it has not answered"};
    }
  }
}

void DeviceArenas::Remove(int local) {
  std::erase_if(arenas_, [local](const auto& arena) { return arena.second.owner == local; });
  for (auto& [base, entry] : arenas_) entry.openings.erase(local);
}

const ArenaEntry* DeviceArenas::Find(const std::byte* address) const {
  auto after = arenas_.upper_bound(address);
  if (after == arenas_.begin()) return nullptr;
  const ArenaEntry& entry = std::prev(after)->second;
  return address < entry.base + entry.bytes ? &entry : nullptr;
}

Reach ReachOf(const ArenaEntry& entry, int local, std::string* why_not) {
  if (entry.owner == local) return Reach::kOpen;
  const auto opening = entry.openings.find(local);
  if (opening == entry.openings.end()) {
    *why_not = "it was not asked to open it";
    return Reach::kRefused;
  }
  *why_not = opening->second.why_not;
  return opening->second.reach;
}

}  // namespace reigen::worker
