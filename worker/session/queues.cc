#include "worker/session/queues.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/base/check.h"

namespace reigen::worker {
namespace {

void FutexWakeAll(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

Queues::Queues(std::span<std::byte> memory)
    : header_(*new (memory.data()) local::QueueHeader{}),
      submissions_(reinterpret_cast<local::Slot*>(memory.data() + local::SubmissionOffset())),
      completions_(reinterpret_cast<local::Slot*>(memory.data() + local::CompletionOffset())) {
  REIGEN_CHECK(memory.size() == local::QueuesBytes());
  header_.magic = local::kMagic;
  header_.version = local::kVersion;
  header_.submission_slots = local::kSubmissionSlots;
  header_.completion_slots = local::kCompletionSlots;
  header_.command_slots = local::kCommandSlots;
  header_.done_slots = local::kDoneSlots;
}

StatusOr<bool> Queues::Take(local::Slot& slot) {
  const uint32_t head = header_.submission_head.load();
  if (head == taken_) return false;
  if (head - released_ > local::kSubmissionSlots || head - taken_ > local::kSubmissionSlots) {
    return InvalidArgument("the position of its submission queue is out of range");
  }
  std::memcpy(&slot, &submissions_[taken_ % local::kSubmissionSlots], sizeof slot);
  ++taken_;
  return true;
}

void Queues::Release() {
  if (released_ == taken_) return;
  released_ = taken_;
  header_.submission_tail.store(taken_);
  if (header_.submission_waiting.load() != 0) FutexWakeAll(header_.submission_tail);
}

uint32_t Queues::SlotsOf(const Completion& completion) {
  const size_t text = std::min<size_t>(completion.text.size(), local::kMaxErrorBytes);
  return 1 + static_cast<uint32_t>((text + sizeof(local::Slot) - 1) / sizeof(local::Slot));
}

bool Queues::HasSpace(uint32_t slots) const {
  // A tail out of range makes no space: such a trainer waits for itself.
  const uint32_t used = written_ - header_.completion_tail.load();
  return used <= local::kCompletionSlots && local::kCompletionSlots - used >= slots;
}

void Queues::Write(const Completion& completion) {
  const auto text_bytes =
      static_cast<uint32_t>(std::min<size_t>(completion.text.size(), local::kMaxErrorBytes));
  local::CompletionSlot slot;
  slot.request = completion.request;
  slot.code = completion.code;
  slot.text_bytes = text_bytes;
  slot.text_slots = SlotsOf(completion) - 1;
  slot.inline_count = static_cast<uint32_t>(completion.inline_bytes.size());
  const auto payload = completion.inline_bytes;
  if (!payload.empty()) std::memcpy(slot.inline_bytes, payload.data(), payload.size());
  std::memcpy(&completions_[written_++ % local::kCompletionSlots], &slot, sizeof slot);
  for (uint32_t done = 0; done < text_bytes; done += sizeof(local::Slot)) {
    std::memcpy(&completions_[written_++ % local::kCompletionSlots],
                completion.text.data() + done,
                std::min<size_t>(text_bytes - done, sizeof(local::Slot)));
  }
}

void Queues::Push(const Completion& completion) {
  REIGEN_CHECK(completion.inline_bytes.size() <= local::kInlineBytes);
  if (backlog_.empty() && HasSpace(SlotsOf(completion))) {
    Write(completion);
    return;
  }
  Waiting& waiting = backlog_.emplace_back();
  waiting.completion = completion;
  std::copy(completion.inline_bytes.begin(), completion.inline_bytes.end(),
            waiting.inline_bytes);
}

void Queues::Publish() {
  const auto drain = [this] {
    while (!backlog_.empty() && HasSpace(SlotsOf(backlog_.front().completion))) {
      Waiting& waiting = backlog_.front();
      waiting.completion.inline_bytes = {waiting.inline_bytes,
                                         waiting.completion.inline_bytes.size()};
      Write(waiting.completion);
      backlog_.pop_front();
    }
  };
  drain();
  if (!backlog_.empty()) {
    header_.completion_wanted.store(1);
    drain();  // space that came before the trainer saw the wish
  }
  if (published_ == written_) return;
  published_ = written_;
  header_.completion_head.store(written_);
  if (header_.trainer_waiting.load() != 0) FutexWakeAll(header_.completion_head);
}

void Queues::SetSleeping(bool sleeping) { header_.worker_sleeping.store(sleeping ? 1 : 0); }

}  // namespace reigen::worker
