// One bucket in an engine, from Start() to done().
#ifndef REIGEN_RUNTIME_COLLECTIVE_RUN_H_
#define REIGEN_RUNTIME_COLLECTIVE_RUN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/collective/bucket.h"
#include "runtime/collective/executor.h"
#include "runtime/collective/posts.h"
#include "runtime/collective/scratch.h"

namespace reigen::collective {

// What the runs of an engine share.
struct RunContext {
  Scratch scratch;
  Posts posts;
  WorkExecutor& executor;
  size_t work_out = 0;  // given to the executor, `done` not yet called
  size_t returns = 0;   // of scratch that was used: others may go on
};

// A bucket that runs. Subclasses say what there is to do; this part knows when it
// has ended and why.
//
//   running --all done--------------------------> ended, status Ok
//       \----Fail()----> failing --work back----> ended, first error
//
// After an error nothing new begins. An ended run may still have posts out: it
// must live until posts_out() is 0, for they use its scratch.
//
// Threads: the engine's owner; work runs on the executor's.
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
  // Work that reads and writes more bytes than this goes to the executor. There it
  // costs 5 to 10 us more, as much as so many bytes take; here it holds up all else.
  static constexpr uint64_t kInlineBytes = 128 * 1024;

  // Runs `work`, here or on the executor; then `after` on the owner's thread (also
  // when the run has failed meanwhile).
  void Do(uint64_t bytes, std::function<void()> work, std::function<void()> after);

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
