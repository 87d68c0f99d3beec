// The trainers' memory on GPUs: whose it is, and who can reach it.
#ifndef REIGEN_WORKER_GPU_DEVICE_ARENAS_H_
#define REIGEN_WORKER_GPU_DEVICE_ARENAS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/local/local.h"
#include "runtime/base/status.h"
#include "worker/session/device_traffic.h"

namespace reigen::worker {

// One arena of one trainer. Others open it by its handle before commands to them name it.
struct ArenaEntry {
  enum class Reach { kAsked, kOpen, kRefused };
  struct Opening {
    Reach reach = Reach::kAsked;
    std::string why_not;
  };

  int owner = 0;  // local rank
  uint32_t id = 0;
  std::byte* base = nullptr;
  uint64_t bytes = 0;
  local::DeviceArenaKind kind = local::DeviceArenaKind::kTensors;
  std::array<uint8_t, local::kIpcHandleBytes> ipc_handle{};
  std::string bus_id;
  std::map<int, Opening> openings;  // by local rank, of all but the owner
};

// Pure. Threads: none of its own; one caller.
class DeviceArenas {
 public:
  struct Offer {
    int to = 0;  // local rank
    local::PeerArena arena;
  };

  // What is to be sent because of it: each trainer with device arenas is to open the
  // others' payloads.
  std::vector<Offer> Add(int owner, const DeviceArena& arena);
  void Opened(int local, int owner, uint32_t arena, const Status& status);
  // Who has not answered yet counts as one that cannot open it, until it answers.
  void GiveUpOpening();
  // Forgets a trainer's, and what it has opened.
  void Remove(int local);

  // The arena that the address lies in; null: none.
  const ArenaEntry* Find(const std::byte* address) const;
  bool empty() const { return arenas_.empty(); }

 private:
  static local::PeerArena PacketOf(const ArenaEntry& entry);
  bool HasAny(int local) const;

  std::map<const std::byte*, ArenaEntry> arenas_;  // by their beginning
};

// Whether commands to the trainer may name the arena; *why_not is set if it is refused.
ArenaEntry::Reach ReachOf(const ArenaEntry& entry, int local, std::string* why_not);

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_GPU_DEVICE_ARENAS_H_
