// The device arenas of one session, and the rule when a payload is put into one: on the
// first GPU that this trainer uses, up to a limit.
//
// Threads: one, the device thread; Hurry from any.
// Waits:   for the worker's answer (Session::AddDeviceArena), and for room: while blocks
//          are given back, and then half a second since a tensor is ready that has none,
//          after which the payload goes through host memory. Without that end, ranks that
//          enqueue in different orders could wait for each other: a block in use may need a
//          request that another rank has no room for. Where a payload in host memory may end
//          the job it is five minutes, for another rank may just be late. After a wait for
//          nothing there is none until a block was given back, and the next one is half as
//          long. The end of the session, or of the use of GPUs, ends a wait within 0.1 s.
// Errors:  none of the caller's: without a block a payload goes through host memory. Why
//          is reported once.
#ifndef REIGEN_CLIENT_C_DEVICE_ARENAS_H_
#define REIGEN_CLIENT_C_DEVICE_ARENAS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/c/arena_check.h"
#include "client/c/command_thread.h"
#include "client/c/device_arena.h"
#include "client/c/range_store.h"
#include "client/c/result.h"
#include "client/c/session.h"
#include "client/cuda/device.h"
#include "proto/local/local.h"
#include "runtime/base/clock.h"

namespace reigen::sdk {

struct DeviceArenaOptions {
  std::shared_ptr<RangeStore> store;    // of the process
  std::optional<uint64_t> limit_bytes;  // nullopt: a sixteenth of the GPU, at most 1 GiB
  std::function<void(const std::string& line)> report = [](const std::string&) {};
};

// What is done elsewhere while a payload waits for room.
struct RoomLook {
  bool wants = true;  // one of those that have no room could go on
  Duration pause{};   // until the next look
};

class DeviceArenas {
 public:
  // `session` has begun. `commands` is started before the first arena, and knows each
  // before a request does that lies there.
  DeviceArenas(Session* session, CommandThread* commands, DeviceArenaOptions options);

  // Asks the worker for more, if need be, or waits for room; meanwhile it calls `look` again
  // and again, so that the worker gets all that may need what is in use. nullopt: through
  // host memory.
  std::optional<DeviceBlock> Allocate(const std::shared_ptr<cuda::Device>& device,
                                      uint64_t bytes,
                                      const std::function<RoomLook()>& look);
  // The trainer shuts down: no wait is longer than half a second.
  void Hurry() { hurry_.store(true); }

 private:
  bool MayUse(const std::shared_ptr<cuda::Device>& device);
  Result Begin(const std::shared_ptr<cuda::Device>& device);
  Result AddTensors(uint64_t bytes);
  Result Allocate(uint64_t least, uint64_t wanted, std::unique_ptr<cuda::DeviceRange>* out);
  Result AddScratch(uint64_t bytes);
  Result Share(const cuda::DeviceRange& range, local::AddDeviceArena* packet);
  bool shares() const { return session_.place().local_size > 1; }
  // Of an arena that others open, what no block may have.
  uint64_t check_bytes() const { return shares() ? kArenaCheckBytes : 0; }
  Result Add(local::AddDeviceArena packet, int dmabuf,
             std::unique_ptr<cuda::DeviceRange> range, uint64_t block_bytes, DeviceArena::End end,
             std::shared_ptr<DeviceArena>* out);
  std::optional<DeviceBlock> Find(uint64_t bytes);
  std::optional<DeviceBlock> WaitForRoom(const std::shared_ptr<cuda::Device>& device,
                                         uint64_t bytes, const std::function<RoomLook()>& look);
  bool AwaitFreed(uint32_t seen, const std::function<RoomLook()>& look) const;
  Duration Patience() const;
  bool HasOneOf(uint64_t bytes) const;
  void GiveUp(const std::string& why);
  void ReportOnce(const std::string& line);

  Session& session_;
  CommandThread& commands_;
  const DeviceArenaOptions options_;
  std::shared_ptr<cuda::Device> device_;  // the first one that was used
  uint64_t limit_bytes_ = 0;
  uint64_t total_bytes_ = 0;  // of those for tensors
  bool given_up_ = false;
  std::vector<std::shared_ptr<DeviceArena>> arenas_;  // for tensors
  std::set<std::string> reported_;
  bool too_large_told_ = false;

  const std::shared_ptr<std::atomic<uint32_t>> freed_ =
      std::make_shared<std::atomic<uint32_t>>(0);
  std::optional<uint32_t> fruitless_at_;  // what freed_ was then
  const Duration most_patience_;
  Duration patience_;
  std::atomic<bool> hurry_{false};
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_DEVICE_ARENAS_H_
