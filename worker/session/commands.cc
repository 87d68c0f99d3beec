#include "worker/session/commands.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/base/check.h"

namespace reigen::worker {
namespace {

constexpr size_t kWordsPerSlot = sizeof(local::Slot) / sizeof(CommandWord);

}  // namespace

Commands::Commands(std::span<std::byte> memory)
    : header_(*reinterpret_cast<local::QueueHeader*>(memory.data())),
      commands_(reinterpret_cast<local::Slot*>(memory.data() + local::CommandOffset())),
      dones_(reinterpret_cast<const local::Slot*>(memory.data() + local::DoneOffset())) {
  REIGEN_CHECK(memory.size() == local::QueuesBytes());
}

uint32_t Commands::SlotsOf(const Waiting& waiting) {
  return 1 + static_cast<uint32_t>((waiting.words.size() + kWordsPerSlot - 1) / kWordsPerSlot);
}

uint64_t Commands::Push(const local::CommandSlot& command, std::vector<CommandWord> words) {
  backlog_.push_back(Waiting{command, std::move(words)});
  Waiting& waiting = backlog_.back();
  REIGEN_CHECK(SlotsOf(waiting) <= local::kCommandSlots, "a command fits into its queue");
  return waiting.command.id = ++last_id_;
}

bool Commands::HasSpace(uint32_t slots) const {
  // A tail out of range makes no space: such a trainer waits for itself.
  const uint32_t used = written_ - header_.command_tail.load();
  return used <= local::kCommandSlots && local::kCommandSlots - used >= slots;
}

void Commands::Write(const Waiting& waiting) {
  std::memcpy(&commands_[written_++ % local::kCommandSlots], &waiting.command,
              sizeof waiting.command);
  for (size_t first = 0; first < waiting.words.size(); first += kWordsPerSlot) {
    const size_t count = std::min(kWordsPerSlot, waiting.words.size() - first);
    std::memcpy(&commands_[written_++ % local::kCommandSlots], &waiting.words[first],
                count * sizeof(CommandWord));
  }
  out_.push_back(waiting.command.id);
}

void Commands::Publish() {
  const uint32_t before = written_;
  while (!backlog_.empty() && out_.size() < local::kDoneSlots &&
         HasSpace(SlotsOf(backlog_.front()))) {
    Write(backlog_.front());
    backlog_.pop_front();
  }
  if (written_ == before) return;
  header_.command_head.store(written_);
  if (header_.trainer_sleeping.exchange(0) != 0) {
    syscall(SYS_futex, &header_.command_head, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
}

StatusOr<bool> Commands::TakeDone(local::DoneSlot& done) {
  const uint32_t head = header_.done_head.load();
  if (head == taken_) return false;
  if (head - taken_ > local::kDoneSlots) {
    return InvalidArgument("the position of its done queue is out of range");
  }
  std::memcpy(static_cast<void*>(&done), &dones_[taken_ % local::kDoneSlots], sizeof done);
  header_.done_tail.store(++taken_);
  if (out_.empty() || done.id != out_.front()) {
    return InvalidArgument("an answer to command " + std::to_string(done.id) + ", which is not " +
                           (out_.empty() ? "there" : "the oldest one"));
  }
  if (static_cast<uint32_t>(done.code) > static_cast<uint32_t>(local::ResultCode::kInternal)) {
    return InvalidArgument("an answer of unknown code " +
                           std::to_string(static_cast<uint32_t>(done.code)));
  }
  out_.pop_front();
  return true;
}

}  // namespace reigen::worker
