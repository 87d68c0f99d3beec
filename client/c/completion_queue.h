// The trainer's end of the completion queue.
//
// Threads: one consumer at a time (the owner locks) for Take; Wait and Interrupt
//          from any.
#ifndef REIGEN_CLIENT_C_COMPLETION_QUEUE_H_
#define REIGEN_CLIENT_C_COMPLETION_QUEUE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/c/futex.h"
#include "client/c/queues_file.h"
#include "client/c/result.h"
#include "runtime/base/clock.h"

namespace reigen::sdk {

struct Completion {
  uint64_t request = 0;
  Result result;
  uint32_t inline_count = 0;  // bytes
  std::array<std::byte, local::kInlineBytes> inline_bytes{};
};

class CompletionQueue {
 public:
  CompletionQueue(QueuesFile& file, const std::atomic<bool>& ended, int wake_fd)
      : file_(file), ended_(ended), wake_fd_(wake_fd) {}

  // What a wait is relative to; read it before Take.
  uint32_t head() const { return file_.header().completion_head.load(); }
  // Moves all there is to the end of `out`. False: the worker wrote nonsense.
  bool Take(std::vector<Completion>* out);
  // Sleeps until the head is no longer `seen` or the session has ended.
  Sleep Wait(uint32_t seen, Time deadline);
  // Wakes all that wait, after `ended` was set. False: none.
  bool Interrupt();

 private:
  QueuesFile& file_;
  const std::atomic<bool>& ended_;
  const int wake_fd_;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_COMPLETION_QUEUE_H_
