// What links can do with the memory of GPUs.
#ifndef REIGEN_WORKER_GPU_DEVICE_NETWORK_H_
#define REIGEN_WORKER_GPU_DEVICE_NETWORK_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/gpudirect/scratch_choice.h"
#include "runtime/transport/link.h"

namespace reigen::worker {

// Threads: the network's owner. Registering a GPU's scratch takes milliseconds there: a
//          transport has one thread, and it happens once an epoch.
// Memory:  what is registered stays so until ReleaseDeviceMemory(), whatever becomes of its
//          owner; an object that is destroyed fences its links first.
class DeviceNetwork {
 public:
  virtual ~DeviceNetwork() = default;
  // All links of the epoch; the first one that does not, with its reason.
  virtual Status LinksTakeDeviceMemory() const = 0;
  // The host's RDMA devices with an active port, and how far they are from the GPU.
  virtual std::vector<gpudirect::NicFacts> NicsFor(const std::string& bus_id) const = 0;
  virtual Status RegisterDevice(const transport::DeviceMemory& memory) = 0;
  virtual Status RegisterHost(std::span<std::byte> memory) = 0;
  // Requires: no bucket runs, no post is out.
  virtual void ReleaseDeviceMemory() = 0;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_GPU_DEVICE_NETWORK_H_
