// The worker's end of a session's command and done queues (proto/local/local.h).
#ifndef REIGEN_WORKER_SESSION_COMMANDS_H_
#define REIGEN_WORKER_SESSION_COMMANDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "proto/local/local.h"
#include "runtime/base/status.h"

namespace reigen::worker {

// An ItemSize or a MemoryPlace, as it lies in the queue.
using CommandWord = std::array<std::byte, sizeof(local::MemoryPlace)>;

// Everything in the file may be changed by the trainer at any time: slots are copied
// before they are looked at, and the worker's own positions are kept outside.
//
// Threads: one owner.
// Buffers: at most kDoneSlots commands are out, so that each has room for its answer; what
//          does not fit into the queue waits here, in order. Bounded by the engine's lanes.
// Errors:  TakeDone fails when the trainer wrote nonsense: its session must end.
class Commands {
 public:
  // `memory`: the file that a Queues has set up, mapped as long as this lives.
  explicit Commands(std::span<std::byte> memory);

  // Sets its id, which it returns; ids grow by one. Seen by the trainer after Publish().
  uint64_t Push(const local::CommandSlot& command, std::vector<CommandWord> words);
  // Writes what there is room for; wakes the command thread if it sleeps.
  void Publish();

  // Copies the next answer out: that of the oldest command. False: there is none.
  StatusOr<bool> TakeDone(local::DoneSlot& done);
  bool HasDone() const { return header_.done_head.load() != taken_; }

 private:
  struct Waiting {
    local::CommandSlot command;
    std::vector<CommandWord> words;
  };

  static uint32_t SlotsOf(const Waiting& waiting);
  bool HasSpace(uint32_t slots) const;
  void Write(const Waiting& waiting);

  local::QueueHeader& header_;
  local::Slot* const commands_;
  const local::Slot* const dones_;
  uint64_t last_id_ = 0;
  uint32_t written_ = 0;   // command_head
  uint32_t taken_ = 0;     // done_tail
  std::deque<uint64_t> out_;      // written, not answered
  std::deque<Waiting> backlog_;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SESSION_COMMANDS_H_
