// Where a collective's memory work runs.
#ifndef REIGEN_RUNTIME_COLLECTIVE_EXECUTOR_H_
#define REIGEN_RUNTIME_COLLECTIVE_EXECUTOR_H_

#include <functional>
#include <memory>

namespace reigen::collective {

// The pool runs work on threads of its own, the inline one at once (tests, the
// simulator).
//
// Threads: Submit and Progress from the engine's owner; `work` on any thread,
//          `done` from Progress() on the owner's.
// Order:   work begins in the order of Submit(); the pool's may end out of order.
//          `done`s of the inline one come in the order of Submit().
// End:     the destructor runs to its end all work submitted, and calls no
//          further `done`: what work touches must live until then.
class WorkExecutor {
 public:
  virtual ~WorkExecutor() = default;
  virtual void Submit(std::function<void()> work, std::function<void()> done) = 0;
  virtual int event_fd() const = 0;  // readable when Progress() has work
  // Calls the `done` of what has ended so far. They may call Submit(); what that
  // ends at once is for the next Progress().
  virtual void Progress() = 0;
};

std::unique_ptr<WorkExecutor> MakeInlineExecutor();
// The threads have all signals blocked.
std::unique_ptr<WorkExecutor> MakePoolExecutor(int threads);

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_EXECUTOR_H_
