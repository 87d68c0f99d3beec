// The device arenas of one session, and the rule when a payload is put into one: on the
// first GPU that this trainer uses, up to a limit.
//
// Threads: one, the device thread.
// Waits:   for the worker's answer (Session::AddDeviceArena).
// Errors:  none of the caller's: without a block a payload goes through host memory. Why
//          is reported once, where it is for good.
#ifndef REIGEN_CLIENT_C_DEVICE_ARENAS_H_
#define REIGEN_CLIENT_C_DEVICE_ARENAS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/c/command_thread.h"
#include "client/c/device_arena.h"
#include "client/c/range_store.h"
#include "client/c/result.h"
#include "client/c/session.h"
#include "client/cuda/device.h"
#include "proto/local/local.h"

namespace reigen::sdk {

struct DeviceArenaOptions {
  std::shared_ptr<RangeStore> store;    // of the process
  std::optional<uint64_t> limit_bytes;  // nullopt: a sixteenth of the GPU, at most 1 GiB
  std::function<void(const std::string& line)> report = [](const std::string&) {};
};

class DeviceArenas {
 public:
  // `session` has begun. `commands` is started before the first arena, and knows each
  // before a request does that lies there.
  DeviceArenas(Session* session, CommandThread* commands, DeviceArenaOptions options)
      : session_(*session), commands_(*commands), options_(std::move(options)) {}

  // Asks the worker for more, if need be. nullopt: through host memory.
  std::optional<DeviceBlock> Allocate(const std::shared_ptr<cuda::Device>& device,
                                      uint64_t bytes);

 private:
  bool MayUse(const std::shared_ptr<cuda::Device>& device);
  Result Begin(const std::shared_ptr<cuda::Device>& device);
  Result AddTensors(uint64_t bytes);
  Result Allocate(uint64_t least, uint64_t wanted, std::unique_ptr<cuda::DeviceRange>* out);
  Result AddScratch(uint64_t bytes);
  Result Add(local::AddDeviceArena packet, int dmabuf,
             std::unique_ptr<cuda::DeviceRange> range, DeviceArena::End end,
             std::shared_ptr<DeviceArena>* out);
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
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_DEVICE_ARENAS_H_
