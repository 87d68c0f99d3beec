// One bucket in an engine, from Start() to done().
#ifndef REIGEN_RUNTIME_COLLECTIVE_RUN_H_
#define REIGEN_RUNTIME_COLLECTIVE_RUN_H_

#include <cstddef>
#include <functional>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/collective/bucket.h"
#include "runtime/collective/memory_work.h"
#include "runtime/collective/run_context.h"
#include "runtime/collective/segment_task.h"

namespace reigen::collective {

// A bucket that runs. Subclasses say what there is to do; this part knows when it
// has ended and why.
//
//   running --all done--------------------------> ended, status Ok
//       \----Fail()----> failing --work back----> ended, first error
//
// After an error nothing new begins. An ended run may still have posts out: it
// must live until posts_out() is 0, for they use its scratch.
//
// Threads: the engine's owner.
class Run {
 public:
  Run(Bucket bucket, RunContext& context) : bucket_(std::move(bucket)), context_(context) {}
  virtual ~Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Does all that can be done now.
  virtual void Advance() = 0;
  virtual size_t posts_out() const { return 0; }

  // The first unfinished run of its stream may use the stream's window (R5).
  void SetOldest() { oldest_ = true; }

  void Fail(const Status& status) {
    if (status_.ok() && !complete_) status_ = status;
  }

  bool ended() const { return (complete_ || !status_.ok()) && work_out_ == 0; }
  const Status& status() const { return status_; }
  const Bucket& bucket() const { return bucket_; }
  void CallDone() const { bucket_.done(status_); }

 protected:
  // Has `work` do the task, at once or later; then calls `after` on the owner's thread (also
  // when the run has failed meanwhile).
  void Do(MemoryWork& work, const SegmentTask& task, size_t place, std::function<void()> after);

  bool failed() const { return !status_.ok(); }
  bool oldest() const { return oldest_; }
  size_t work_out() const { return work_out_; }
  void SetComplete() { complete_ = true; }
  RunContext& context() { return context_; }

 private:
  Bucket bucket_;
  RunContext& context_;
  Status status_;
  size_t work_out_ = 0;
  bool complete_ = false;
  bool oldest_ = false;
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_RUN_H_
