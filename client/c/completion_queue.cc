#include "client/c/completion_queue.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>

namespace reigen::sdk {
namespace {

reigen_status StatusOf(local::ResultCode code) {
  const auto number = static_cast<uint32_t>(code);
  if (number > static_cast<uint32_t>(local::ResultCode::kInternal)) return REIGEN_INTERNAL;
  return static_cast<reigen_status>(number);  // the numbers are the same
}

static_assert(static_cast<int>(local::ResultCode::kInvalidArgument) == REIGEN_INVALID_ARGUMENT);
static_assert(static_cast<int>(local::ResultCode::kFailedPrecondition) ==
              REIGEN_FAILED_PRECONDITION);
static_assert(static_cast<int>(local::ResultCode::kAborted) == REIGEN_ABORTED);
static_assert(static_cast<int>(local::ResultCode::kResourceExhausted) ==
              REIGEN_RESOURCE_EXHAUSTED);
static_assert(static_cast<int>(local::ResultCode::kUnavailable) == REIGEN_UNAVAILABLE);
static_assert(static_cast<int>(local::ResultCode::kInternal) == REIGEN_INTERNAL);

}  // namespace

bool CompletionQueue::Take(std::vector<Completion>* out) {
  local::QueueHeader& header = file_.header();
  const uint32_t head = header.completion_head.load();
  uint32_t tail = header.completion_tail.load(std::memory_order_relaxed);
  if (head == tail) return true;
  if (head - tail > local::kCompletionSlots) return false;
  while (tail != head) {
    local::CompletionSlot slot;
    std::memcpy(&slot, file_.completion(tail++).bytes, sizeof(slot));
    const uint64_t text_room = uint64_t{slot.text_slots} * sizeof(local::Slot);
    if (slot.text_slots > head - tail || slot.text_bytes > text_room ||
        slot.text_bytes > local::kMaxErrorBytes || slot.inline_count > local::kInlineBytes) {
      return false;
    }
    Completion done;
    done.request = slot.request;
    done.result.code = StatusOf(slot.code);
    for (uint32_t left = slot.text_bytes; left > 0;) {
      const auto bytes = std::min<uint32_t>(left, sizeof(local::Slot));
      done.result.text.append(reinterpret_cast<const char*>(file_.completion(tail++).bytes), bytes);
      left -= bytes;
    }
    tail += slot.text_slots - (slot.text_bytes + sizeof(local::Slot) - 1) / sizeof(local::Slot);
    done.inline_count = slot.inline_count;
    std::memcpy(done.inline_bytes.data(), slot.inline_bytes, sizeof(slot.inline_bytes));
    out->push_back(std::move(done));
  }
  header.completion_tail.store(tail);
  if (header.completion_wanted.load() != 0) {
    header.completion_wanted.store(0);
    eventfd_write(wake_fd_, 1);
  }
  return true;
}

Sleep CompletionQueue::Wait(uint32_t seen, Time deadline) {
  local::QueueHeader& header = file_.header();
  header.trainer_waiting.fetch_add(1);
  Sleep sleep = Sleep::kWoken;
  if (header.completion_head.load() == seen && !ended_.load()) {
    sleep = FutexWait(header.completion_head, seen, deadline);
  }
  header.trainer_waiting.fetch_sub(1);
  return sleep;
}

bool CompletionQueue::Interrupt() {
  local::QueueHeader& header = file_.header();
  if (header.trainer_waiting.load() == 0) return false;
  FutexWakeAll(header.completion_head);
  return true;
}

}  // namespace reigen::sdk
