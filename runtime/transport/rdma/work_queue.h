// A queue pair that knows how much is posted to it.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_WORK_QUEUE_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_WORK_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/transport/rdma/verbs.h"

namespace reigen::transport::rdma {

// What a work request was, in its 64-bit id.
enum class WorkKind : uint8_t {
  kControlSend,
  kControlReceive,
  kDataSend,
  kDataReceive,
  kPlacing,   // by a device to itself, as is
  kReadBack,  // this
};

struct WorkId {
  WorkKind kind = WorkKind::kControlSend;
  uint8_t queue = 0;   // index in the link; of a device with itself, its rail
  uint64_t value = 0;  // slot, message or job; 48 bits

  uint64_t Encode() const;
  static WorkId Decode(uint64_t id);
  bool is_local() const { return kind == WorkKind::kPlacing || kind == WorkKind::kReadBack; }
};

// Looks at silent queues in the time after which they count as lost.
inline constexpr int kLooks = 8;

const char* Name(WorkKind kind);  // "a data write"

// Errors: a post that is refused, whole or in part, ends the link: the caller has
//         counted the room, so that it means a broken device.
class WorkQueue {
 public:
  WorkQueue() = default;
  explicit WorkQueue(std::unique_ptr<QueuePair> pair) : pair_(std::move(pair)) {}

  Status Send(const SendWork& work);
  Status Receive(std::span<const ReceiveWork> work);
  void OnCompletion(WorkKind kind);

  // Whether sends are out and none has ended for `limit`. It is the other end's device that
  // ends them, whatever its program does; so the path has gone, or a device has stopped. To be
  // asked after completions were taken, and again and again while sends are out: a time in
  // which nobody asked counts limit / kLooks at most, for then it was this program, or the
  // machine, that did not run.
  bool Unanswered(Time now, Duration limit);

  size_t out() const { return out_; }  // posted and not completed
  size_t sends_out() const { return sends_out_; }
  QueuePair& pair() { return *pair_; }
  const QueuePair& pair() const { return *pair_; }

 private:
  Status Took(const Posted& posted, size_t asked, const char* call);

  std::unique_ptr<QueuePair> pair_;
  size_t out_ = 0;
  size_t sends_out_ = 0;
  bool answered_ = false;  // since the last look; also if nothing was out then
  Time looked_{};
  Duration silent_{};
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_WORK_QUEUE_H_
