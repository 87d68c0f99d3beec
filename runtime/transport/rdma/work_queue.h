// A queue pair that knows how much is posted to it.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_WORK_QUEUE_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_WORK_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

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

const char* Name(WorkKind kind);  // "a data write"

// Errors: a post that is refused, whole or in part, ends the link: the caller has
//         counted the room, so that it means a broken device.
class WorkQueue {
 public:
  WorkQueue() = default;
  explicit WorkQueue(std::unique_ptr<QueuePair> pair) : pair_(std::move(pair)) {}

  Status Send(const SendWork& work);
  Status Receive(std::span<const ReceiveWork> work);
  void OnCompletion() { --out_; }

  size_t out() const { return out_; }  // posted and not completed
  QueuePair& pair() { return *pair_; }
  const QueuePair& pair() const { return *pair_; }

 private:
  Status Took(const Posted& posted, size_t asked, const char* call);

  std::unique_ptr<QueuePair> pair_;
  size_t out_ = 0;
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_WORK_QUEUE_H_
