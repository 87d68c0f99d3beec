// All that this transport asks of an RDMA stack, so that tests can stand in for it:
// real/real_verbs.h is libibverbs, fake/fake_fabric.h is memory.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_VERBS_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_VERBS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/rdma/verbs_types.h"

namespace reigen::transport::rdma {

// Threads: one owner for a device and all that is made of it.
// Lifetime: queue pairs before the completion queues they use, all of them and
//          regions before their device.
// Errors:  a Status carries the system's error number in its text; what callers
//          must tell apart has a code of its own, named at the function.

class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;  // deregisters
  virtual uint32_t local_key() const = 0;
  virtual uint32_t remote_key() const = 0;
};

class CompletionQueue {
 public:
  virtual ~CompletionQueue() = default;
  virtual uint32_t number() const = 0;  // of its device's, as in events
  // How many of `out` were filled. Never blocks. An error ends the queue.
  virtual StatusOr<size_t> Poll(std::span<WorkCompletion> out) = 0;
  // The next completion makes the device's completion_fd() readable. What came
  // before is not told: poll once more after this.
  virtual Status Arm() = 0;
};

// What of a list was taken by the queue before an error ended it.
struct Posted {
  size_t count = 0;
  int error = 0;  // errno; 0: all of the list
};

//   Init --Connect--> ready to send --SetError--> error. Receives may be posted from
//   the beginning. In the error state every work request out ends as kFlushed, if
//   it does not end well, and no more bytes move (R7).
class QueuePair {
 public:
  virtual ~QueuePair() = default;  // nothing of it moves bytes afterwards
  virtual uint32_t number() const = 0;  // of its device's: others use the same numbers
  virtual uint32_t inline_bytes() const = 0;
  virtual Posted PostSend(std::span<const SendWork> work) = 0;
  virtual Posted PostReceive(std::span<const ReceiveWork> work) = 0;
  virtual Status Connect(const PathAttributes& path) = 0;
  virtual Status SetError() = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  // Asked anew each time: after a flap the GIDs may be others.
  virtual StatusOr<DeviceInfo> Query() = 0;

  // ResourceExhausted: over the limit of locked memory (ENOMEM).
  virtual StatusOr<std::unique_ptr<MemoryRegion>> Register(std::span<std::byte> memory,
                                                           Access access) = 0;
  // Memory of another device (a GPU), as a dma-buf, which queue pairs that allow it may
  // read, too. Unimplemented: not supported by this device, kernel or library; others:
  // it was refused (DescribeDmabuf in words.h).
  virtual StatusOr<std::unique_ptr<MemoryRegion>> RegisterDmabuf(int fd, uint64_t offset,
                                                                 uint64_t bytes, uint64_t address,
                                                                 Access access) = 0;

  virtual StatusOr<std::unique_ptr<CompletionQueue>> CreateCompletionQueue(uint32_t entries) = 0;
  // In the Init state, with `queue` for both directions.
  virtual StatusOr<std::unique_ptr<QueuePair>> CreateQueuePair(CompletionQueue* queue,
                                                               const QpLimits& limits, uint8_t port,
                                                               uint16_t pkey_index) = 0;

  // Readable when a completion came to a queue that was armed. TakeEvents() takes
  // all of these events; queues must be armed again.
  virtual int completion_fd() const = 0;
  virtual void TakeEvents() = 0;

  // Readable when NextAsyncEvent() has something. Never blocks.
  virtual int async_fd() const = 0;
  virtual std::optional<AsyncEvent> NextAsyncEvent() = 0;
};

// The RDMA devices of a machine.
class Verbs {
 public:
  virtual ~Verbs() = default;
  // Names; none is not an error.
  virtual StatusOr<std::vector<std::string>> ListDevices() = 0;
  // FailedPrecondition: it is a device that links cannot use, whatever is done.
  virtual StatusOr<std::unique_ptr<Device>> Open(const std::string& name) = 0;
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_VERBS_H_
