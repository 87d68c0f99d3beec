#include "runtime/transport/rdma/work_queue.h"

#include <algorithm>
#include <string>

#include "runtime/base/check.h"

namespace reigen::transport::rdma {
namespace {

constexpr int kKindShift = 56;
constexpr int kQueueShift = 48;
constexpr uint64_t kValueMask = (uint64_t{1} << kQueueShift) - 1;

}  // namespace

uint64_t WorkId::Encode() const {
  REIGEN_CHECK(value <= kValueMask, "48 bits");
  return uint64_t{static_cast<uint8_t>(kind)} << kKindShift | uint64_t{queue} << kQueueShift | value;
}

WorkId WorkId::Decode(uint64_t id) {
  return {static_cast<WorkKind>(id >> kKindShift), static_cast<uint8_t>(id >> kQueueShift),
          id & kValueMask};
}

const char* Name(WorkKind kind) {
  switch (kind) {
    case WorkKind::kControlSend:
      return "a control message";
    case WorkKind::kControlReceive:
      return "a receive of control messages";
    case WorkKind::kDataSend:
      return "a write of data";
    case WorkKind::kDataReceive:
      return "a receive of notices";
    case WorkKind::kPlacing:
      return "a write of a short message into a GPU's memory";
    case WorkKind::kReadBack:
      return "the read-back of what was written to a GPU's memory";
  }
  return "?";
}

Status WorkQueue::Send(const SendWork& work) {
  const Posted posted = pair_->PostSend({&work, 1});
  if (sends_out_ == 0) answered_ = true;
  sends_out_ += posted.count;
  return Took(posted, 1, "ibv_post_send");
}

void WorkQueue::OnCompletion(WorkKind kind) {
  --out_;
  if (kind == WorkKind::kControlReceive || kind == WorkKind::kDataReceive) return;
  --sends_out_;
  answered_ = true;
}

bool WorkQueue::Unanswered(Time now, Duration limit) {
  const Duration waited = now - std::exchange(looked_, now);
  if (std::exchange(answered_, false) || sends_out_ == 0) {
    silent_ = {};
    return false;
  }
  silent_ += std::clamp(waited, Duration(0), limit / kLooks);
  return silent_ >= limit;
}

Status WorkQueue::Receive(std::span<const ReceiveWork> work) {
  return Took(pair_->PostReceive(work), work.size(), "ibv_post_recv");
}

Status WorkQueue::Took(const Posted& posted, size_t asked, const char* call) {
  out_ += posted.count;
  if (posted.error == 0) return OkStatus();
  const std::string what = std::string(call) + " took " + std::to_string(posted.count) + " of " +
                           std::to_string(asked) + " requests";
  return ErrnoStatus(StatusCode::kInternal, what, posted.error);
}

}  // namespace reigen::transport::rdma
