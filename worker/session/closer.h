// Closes what trainers chose, where it holds up nobody.
#ifndef REIGEN_WORKER_SESSION_CLOSER_H_
#define REIGEN_WORKER_SESSION_CLOSER_H_

#include <functional>
#include <memory>

#include "runtime/collective/executor.h"

namespace reigen::worker {

// For work that may never end, such as the close of a file on a FUSE mount that hangs:
// it holds up later work of the closer, and neither the pool nor the end of the process.
//
// Threads: one of its own, which is left alone at the end if it hangs. One owner.
// Order:   that of Submit().
// End:     the destructor waits for nothing, so work must own what it touches. There is
//          no `done`: it is dropped.
class Closer : public collective::WorkExecutor {
 public:
  Closer();
  ~Closer() override;

  void Submit(std::function<void()> work, std::function<void()> done) override;
  int event_fd() const override { return -1; }
  void Progress() override {}

 private:
  struct Shared;

  const std::shared_ptr<Shared> shared_;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SESSION_CLOSER_H_
