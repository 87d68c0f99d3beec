#include "client/c/submission_queue.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>

#include "client/c/futex.h"

namespace reigen::sdk {

Result SubmissionQueue::WaitForSpace(uint32_t slots) {
  local::QueueHeader& header = file_.header();
  const uint32_t head = header.submission_head.load(std::memory_order_relaxed);
  const auto fits = [&](uint32_t tail) {
    return local::kSubmissionSlots - (head - tail) >= slots;
  };
  uint32_t tail = header.submission_tail.load(std::memory_order_acquire);
  if (fits(tail)) return Ok();
  const Time deadline = Now() + space_limit_;
  WakeWorker();
  header.submission_waiting.store(1);
  Result result = Ok();
  while (true) {
    tail = header.submission_tail.load();
    if (fits(tail)) break;
    if (ended_.load()) {
      result = Fail(REIGEN_UNAVAILABLE, "the worker of this host is gone");
      break;
    }
    if (FutexWait(header.submission_tail, tail, deadline) == Sleep::kTimeout) {
      result = Fail(REIGEN_UNAVAILABLE, "the worker of this host takes no requests");
      break;
    }
  }
  header.submission_waiting.store(0);
  return result;
}

Result SubmissionQueue::DefineName(uint32_t id, const std::string& name) {
  for (size_t offset = 0; offset < name.size();) {
    local::NameSlot piece;
    piece.name = id;
    piece.total_bytes = static_cast<uint32_t>(name.size());
    piece.offset = static_cast<uint32_t>(offset);
    piece.piece_bytes =
        static_cast<uint32_t>(std::min(sizeof(piece.bytes), name.size() - offset));
    std::memcpy(piece.bytes, name.data() + offset, piece.piece_bytes);
    local::Slot slot;
    std::memcpy(slot.bytes, &piece, sizeof(piece));
    REIGEN_SDK_RETURN_IF_ERROR(Publish({&slot, 1}));
    offset += piece.piece_bytes;
  }
  return Ok();
}

Result SubmissionQueue::Publish(std::span<const local::Slot> slots) {
  REIGEN_SDK_RETURN_IF_ERROR(WaitForSpace(static_cast<uint32_t>(slots.size())));
  local::QueueHeader& header = file_.header();
  uint32_t head = header.submission_head.load(std::memory_order_relaxed);
  for (const local::Slot& slot : slots) file_.submission(head++) = slot;
  header.submission_head.store(head);  // seq_cst: before the look at worker_sleeping
  return Ok();
}

void SubmissionQueue::WakeWorker() {
  local::QueueHeader& header = file_.header();
  if (header.worker_sleeping.load() == 0) return;
  header.worker_sleeping.store(0);
  eventfd_write(wake_fd_, 1);
}

bool SubmissionQueue::Interrupt() {
  local::QueueHeader& header = file_.header();
  if (header.submission_waiting.load() == 0) return false;
  FutexWakeAll(header.submission_tail);
  return true;
}

}  // namespace reigen::sdk
