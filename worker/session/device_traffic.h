// What sessions and whoever has the trainers' GPUs work say to each other.
#ifndef REIGEN_WORKER_SESSION_DEVICE_TRAFFIC_H_
#define REIGEN_WORKER_SESSION_DEVICE_TRAFFIC_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "proto/local/local.h"
#include "runtime/base/status.h"
#include "worker/session/commands.h"
#include "worker/session/trainer_fd.h"

namespace reigen::worker {

// Memory on a trainer's GPU, checked. `base` stands for it and is never accessed.
struct DeviceArena {
  uint32_t id = 0;
  std::byte* base = nullptr;
  uint64_t bytes = 0;
  local::DeviceArenaKind kind = local::DeviceArenaKind::kTensors;
  int capability_major = 0;
  int writes_ordering = 0;
  bool allows_rdma = false;
  std::string bus_id;  // "0000:3b:00.0", or empty: what came was none
  std::array<uint8_t, local::kIpcHandleBytes> ipc_handle{};
  TrainerFd dmabuf;           // of a scratch; or:
  std::string why_no_dmabuf;
};

// What trainers say of their GPUs. Also called from within calls to DeviceTrainers: it
// notes what happened and acts later.
class DeviceHandler {
 public:
  virtual ~DeviceHandler() = default;
  virtual void OnDeviceArena(int local, DeviceArena arena) = 0;
  // Each once, and only for what was sent.
  virtual void OnPeerArenaOpened(int local, int owner, uint32_t arena, const Status& status) = 0;
  virtual void OnHostScratchMapped(int local, const Status& status) = 0;
  // It puts no payloads there in this epoch.
  virtual void OnNoDeviceUse(int local, const std::string& why) = 0;
  // In the order of SendCommand, one for each; none after OnSessionEnded.
  virtual void OnCommandDone(int local, const local::DoneSlot& done) = 0;
  // Its memory stays until no bucket uses it; for good if `memory_stays`: then plans of what
  // it had asked for may still come.
  virtual void OnSessionEnded(int local, bool memory_stays) = 0;
};

// What is said to trainers; to one without a session: nothing.
class DeviceTrainers {
 public:
  virtual ~DeviceTrainers() = default;
  virtual void SendPeerArena(int local, const local::PeerArena& arena) = 0;
  virtual void SendHostScratch(int local, uint64_t bytes, int fd) = 0;
  virtual void SendDeviceUse(int local, bool use, const std::string& why_not) = 0;
  virtual void SendCommand(int local, const local::CommandSlot& command,
                           std::vector<CommandWord> words) = 0;
  // Of an arena of host memory; null: there is no such place.
  virtual std::byte* HostMemory(int local, uint32_t arena, uint64_t offset, uint64_t bytes) = 0;
  // It answered what cannot be: its session ends.
  virtual void EndSession(int local, const std::string& reason) = 0;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SESSION_DEVICE_TRAFFIC_H_
