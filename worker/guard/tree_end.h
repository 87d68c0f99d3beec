// Ends everything below this process: SIGTERM, a grace, SIGKILL, again and again
// until none is left.
//
//   terminating --only `last` left, or the grace is over--> killing --> done
//                                          (after a limit, with survivors named)
//
// `last` (the worker) is spared until the trainers had their SIGTERM and its
// grace: they die with it.
//
// Threads: one owner. Pure but for the hooks.
#ifndef REIGEN_WORKER_GUARD_TREE_END_H_
#define REIGEN_WORKER_GUARD_TREE_END_H_

#include <sys/types.h>

#include <functional>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/process_tree.h"

namespace reigen::worker {

// How processes are seen and signalled; tests have their own.
struct TreeHooks {
  std::function<std::vector<ProcessInfo>()> list;
  std::function<bool(const ProcessInfo&, int signal)> signal;
};
TreeHooks RealTreeHooks();

class TreeEnd {
 public:
  // Waiting for a killed process: the kernel may be busy with its memory.
  static constexpr Duration kKillLimit = seconds(2);

  TreeEnd(TreeHooks hooks, pid_t last, Duration grace, Time now);

  // Call every kStep, and after each child's end.
  static constexpr Duration kStep = milliseconds(50);
  void Step(Time now);

  // No more grace.
  void Hurry(Time now);

  bool done() const { return phase_ == Phase::kDone; }
  // What SIGKILL did not end.
  const std::vector<pid_t>& unkillable() const { return unkillable_; }

 private:
  enum class Phase { kTerminating, kKilling, kDone };

  void StartKilling(Time now);

  TreeHooks hooks_;
  pid_t last_;
  Phase phase_ = Phase::kTerminating;
  bool terminated_ = false;
  Time deadline_;
  std::vector<pid_t> unkillable_;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_GUARD_TREE_END_H_
