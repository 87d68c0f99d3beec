// The queue pair for everything but large data: frames, credits, small messages.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_CONTROL_QUEUE_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_CONTROL_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/link_core.h"
#include "runtime/transport/link_limits.h"
#include "runtime/transport/rdma/rdma_limits.h"
#include "runtime/transport/rdma/work_queue.h"

namespace reigen::transport::rdma {

// A message is a SEND into one of the receives that the other end has posted:
//
//   0   2  so many messages of the receiver have been taken here
//   2   1  1: a frame follows; 2: a frame and, at 56, the place of a credit
//   8  48  the frame      56 ..  its payload, up to kEagerBytes, or the place
//
// kControlWindow messages may be on their way; taking them gives back window, with
// any message the other way or, when half a window has gathered, with one of its
// own, for which kControlReturns more receives are posted. So no message ever
// meets an empty queue, and no window is lost.
//
// Payloads are copied into a slot: they are a page at most.
//
// Threads: one owner.
class ControlQueue {
 public:
  static constexpr size_t kHeaderBytes = 8 + kFrameBytes;
  static constexpr size_t kSlotBytes = (kHeaderBytes + kEagerBytes + 63) / 64 * 64;
  static constexpr size_t kMemoryBytes = 2 * kControlQueue * kSlotBytes;
  static constexpr size_t kPlaceBytes = 8 + 4 * kMaxRails + 4 + 3;

  // `memory`: kMemoryBytes, registered under `local_key`; must outlive the queue pair.
  ControlQueue(WorkQueue* queue, std::span<std::byte> memory, uint32_t local_key);

  Status PostReceives();  // all of them; once

  bool CanSend() const { return window_ > 0 && !free_.empty(); }
  // Requires CanSend(). `place`: of a credit.
  Status Send(const OutFrame& out, const Place* place);
  // Gives back window, if there is enough and nothing to carry it.
  Status GiveBack();

  // A send is complete: its frame, if it had one.
  std::optional<Frame> OnSent(uint64_t slot);

  struct Received {
    bool has_frame = false;
    Frame frame;
    Place place;                         // of a credit
    std::span<const std::byte> payload;  // until Release()
  };
  // A message has come. InvalidArgument: it is none.
  StatusOr<Received> OnReceived(uint64_t slot, uint32_t bytes);
  // It has been dealt with: its receive is posted again.
  Status Release(uint64_t slot);

 private:
  std::span<std::byte> SendSlot(uint64_t slot);
  std::span<std::byte> ReceiveSlot(uint64_t slot);
  ReceiveWork ReceiveOf(uint64_t slot);
  Status Post(uint64_t slot, size_t bytes, std::optional<Frame> frame);

  WorkQueue& queue_;
  const std::span<std::byte> memory_;
  const uint32_t local_key_;
  uint32_t window_ = kControlWindow;
  uint32_t taken_ = 0;  // messages of the peer that it was not told about
  std::vector<uint64_t> free_;
  std::vector<std::optional<Frame>> sending_;  // by slot
  std::vector<bool> counts_;                   // by receive slot: it used window
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_CONTROL_QUEUE_H_
