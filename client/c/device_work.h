// An operation's tensors on a GPU: their way into host memory, and the result's back.
//
// Threads: Start by the thread that enqueues, Fetch by the device thread, Deliver by
//          the one that sees the end: one after the other.
// Memory:  the caller's tensors are read until Fetch returned; the result's host memory
//          is kept until the device has read it.
#ifndef REIGEN_CLIENT_C_DEVICE_WORK_H_
#define REIGEN_CLIENT_C_DEVICE_WORK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "client/c/arena.h"
#include "client/c/request.h"
#include "client/c/result.h"
#include "client/c/task_thread.h"
#include "client/cuda/device.h"
#include "client/cuda/devices.h"
#include "proto/local/local.h"

namespace reigen::sdk {

// Where the worker finds and leaves a tensor.
struct Payload {
  uint32_t arena = local::kInlineArena;
  uint64_t offset = 0;
  std::byte* packed = nullptr;      // the same, here; null when inline
  std::shared_ptr<ArenaFile> file;  // keeps the caller's shared memory mapped
};

class DeviceWork {
 public:
  // Marks what the caller's stream has been given so far. `thread`: see Deliver;
  // null: Deliver waits itself.
  static Result Start(cuda::Devices& devices, const Request& request,
                      std::shared_ptr<TaskThread> thread, std::unique_ptr<DeviceWork>* out);

  // The device's copies run at full speed from and to this memory.
  Result Pin(const std::shared_ptr<ArenaFile>& file);
  // inputs -> payloads. Waits for the caller's stream.
  Result Fetch(const Request& request, std::span<const Payload> payloads);
  // payloads -> outputs; the caller's stream goes on after it. Does not wait: `block`,
  // which the payloads lie in, goes to the thread until the device is done with it.
  Result Deliver(const Request& request, std::span<const Payload> payloads, Block block);

 private:
  std::shared_ptr<cuda::Device> device_;
  std::unique_ptr<cuda::Device::Event> begin_;
  std::shared_ptr<TaskThread> thread_;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_DEVICE_WORK_H_
