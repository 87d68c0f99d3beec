// The worker's end of a session's two queues (proto/local/local.h).
#ifndef REIGEN_WORKER_SESSION_QUEUES_H_
#define REIGEN_WORKER_SESSION_QUEUES_H_

#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include "proto/local/local.h"
#include "runtime/base/status.h"

namespace reigen::worker {

struct Completion {
  uint64_t request = 0;
  local::ResultCode code = local::ResultCode::kOk;
  std::string text;                 // cut to kMaxErrorBytes
  std::span<const std::byte> inline_bytes;  // at most kInlineBytes; copied
};

// Everything in the file may be changed by the trainer at any time: slots are copied
// before they are looked at, and the worker's own positions are kept outside.
//
// Threads: one owner.
// Buffers: completions that find the queue full wait here, in order; at most as many
//          as the trainer has requests (bounded by the session).
// Errors:  Take fails when the trainer's position is nonsense.
class Queues {
 public:
  // `memory`: QueuesBytes() zeroed bytes, mapped as long as this lives.
  explicit Queues(std::span<std::byte> memory);

  // Copies the next slot out. False: there is none.
  StatusOr<bool> Take(local::Slot& slot);
  bool HasSubmissions() const { return header_.submission_head.load() != taken_; }
  // Tells the trainer that the slots taken are free.
  void Release();

  void Push(const Completion& completion);
  // Writes what waited for space; wakes the trainer if that or Push wrote anything.
  void Publish();

  // Before the worker sleeps; afterwards Take must find nothing.
  void SetSleeping(bool sleeping);

 private:
  bool HasSpace(uint32_t slots) const;
  void Write(const Completion& completion);
  static uint32_t SlotsOf(const Completion& completion);

  struct Waiting {
    Completion completion;
    std::byte inline_bytes[local::kInlineBytes];
  };

  local::QueueHeader& header_;
  local::Slot* const submissions_;
  local::Slot* const completions_;
  uint32_t taken_ = 0;      // submission_tail, also what Release has not told yet
  uint32_t released_ = 0;
  uint32_t written_ = 0;    // completion_head, also what Publish has not told yet
  uint32_t published_ = 0;
  std::deque<Waiting> backlog_;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SESSION_QUEUES_H_
