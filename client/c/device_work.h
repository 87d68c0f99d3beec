// An operation's tensors on a GPU: their way into the payloads, which are in a device arena
// or in host memory, and the result's back.
//
// Threads: Start by the thread that enqueues, AskReady and the fetch by the device thread,
//          Deliver by the one that sees the end: one after the other. Then Join and
//          WaitDelivered, from any.
// Waits:   of the caller's stream none has a limit: it may itself wait for another rank.
// Memory:  the caller's tensors are read until EndFetch returned; the result's payloads
//          are kept until the device has read them.
#ifndef REIGEN_CLIENT_C_DEVICE_WORK_H_
#define REIGEN_CLIENT_C_DEVICE_WORK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "client/c/arena.h"
#include "client/c/device_arena.h"
#include "client/c/request.h"
#include "client/c/result.h"
#include "client/c/task_thread.h"
#include "client/cuda/device.h"
#include "client/cuda/devices.h"
#include "proto/local/local.h"
#include "runtime/base/clock.h"

namespace reigen::sdk {

// Where the worker finds and leaves a tensor.
struct Payload {
  uint32_t arena = local::kInlineArena;
  uint64_t offset = 0;
  std::byte* packed = nullptr;      // the same, here; null when inline
  cuda::CuAddress device = 0;       // the same, in a device arena; else 0
  std::shared_ptr<ArenaFile> file;  // keeps the caller's shared memory mapped
};

// What payloads lie in: at most one of them.
struct PayloadBlock {
  Block host;
  std::optional<DeviceBlock> device;
};

class DeviceWork {
 public:
  // Marks what the caller's stream has been given so far. `thread`: see Deliver.
  static Result Start(cuda::Devices& devices, const Request& request,
                      std::shared_ptr<TaskThread> thread, std::unique_ptr<DeviceWork>* out);

  const std::shared_ptr<cuda::Device>& device() const { return device_; }
  // The device's copies run at full speed from and to this memory, where it can be had.
  void Pin(const std::shared_ptr<ArenaFile>& file) { pinned_ = TryPin(file); }
  // Whether the caller's stream got here. When it takes long that is reported.
  Result AskReady(const Request& request, bool* ready);
  // Then: inputs -> payloads.
  Result StartFetch(const Request& request, std::span<const Payload> payloads);
  // Waits until they are there.
  Result EndFetch(const Request& request);
  // After a failure: keeps the memory for as long as the device may touch it.
  void KeepIfTouched(PayloadBlock block);
  // All of a device block to a host block, after the commands before; the fetch has ended.
  // By another thread.
  Result StartMirror(const DeviceBlock& from, const Block& to,
                     std::unique_ptr<cuda::Device::Event>* end) const;
  // payloads -> outputs. Does not wait: `block`, which the payloads lie in, goes to the
  // thread until the device is done with it.
  Result Deliver(const Request& request, std::span<const Payload> payloads,
                 PayloadBlock block);
  // The caller's stream goes on after what Deliver started. FailedPrecondition: it
  // captures a graph.
  Result Join(const Request& request) const;
  // Until that is done, or `deadline`.
  Result WaitDelivered(const Request& request, Time deadline, bool* done) const;
  // An all-reduce of one rank, on the device. False: it cannot be done there.
  bool CanScale(const Request& request) const;
  // As a part of the caller's stream.
  Result Scale(const Request& request);

 private:
  bool TryPin(const std::shared_ptr<ArenaFile>& file) const;
  Result Send(const Request& request, std::span<const Payload> payloads,
              std::unique_ptr<cuda::Device::Event>* end) const;

  std::shared_ptr<cuda::Device> device_;
  std::unique_ptr<cuda::Device::Event> begin_;
  Time begun_{};
  bool is_late_ = false;  // and that was reported
  std::unique_ptr<cuda::Device::Event> fetched_;
  std::shared_ptr<cuda::Device::Event> delivered_;  // null: nothing is
  bool is_callers_ = false;  // delivered_ is of the caller's stream
  bool pinned_ = false;
  std::shared_ptr<TaskThread> thread_;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_DEVICE_WORK_H_
