// The commands that one trainer has not answered.
#ifndef REIGEN_WORKER_GPU_COMMAND_BOOK_H_
#define REIGEN_WORKER_GPU_COMMAND_BOOK_H_

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "proto/local/local.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace reigen::worker {

// Answers come in the order of the commands. One that was given up keeps its place, so that
// a late answer is taken for its own and ignored.
//
// Pure. Threads: none of its own; one caller.
class CommandBook {
 public:
  using Done = std::function<void(const StatusOr<local::DoneSlot>&)>;

  void Add(Done done, Time now);
  // The oldest one is answered: whom to tell; empty: nobody any more.
  // Requires: there is one.
  Done Take(Time now);
  // Everybody to be told that no answer comes.
  std::vector<Done> GiveUp();

  // Since when the trainer has had commands and answered none; none: it has none that
  // anybody waits for.
  std::optional<Time> waiting_since() const;
  bool warned() const { return warned_; }
  void set_warned() { warned_ = true; }

 private:
  std::deque<Done> out_;
  size_t wanted_ = 0;  // of those, not given up
  Time since_{};       // that the oldest is the oldest
  bool warned_ = false;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_GPU_COMMAND_BOOK_H_
