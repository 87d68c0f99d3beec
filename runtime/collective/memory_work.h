// Who does a bucket's memory work: this host's processors, or its trainers' GPUs.
#ifndef REIGEN_RUNTIME_COLLECTIVE_MEMORY_WORK_H_
#define REIGEN_RUNTIME_COLLECTIVE_MEMORY_WORK_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "runtime/base/status.h"
#include "runtime/collective/bucket.h"
#include "runtime/collective/layout.h"
#include "runtime/collective/run_context.h"
#include "runtime/collective/scratch.h"
#include "runtime/collective/segment_task.h"

namespace reigen::collective {

// The tasks of one bucket. Each belongs to a place: one of the bucket's lanes, or a block of
// a local bucket. On GPUs a place's tasks, and its scratch, are all one leader's; on
// processors places make no difference.
//
// Order:   none, but that a task has done its work when its `done` is called. Nothing needs
//          another: tasks of different places work on different elements and on different
//          buffers, and a lane begins what needs another task's outcome after its `done`.
// Threads: the engine's owner.
class MemoryWork {
 public:
  using Done = std::function<void(const Status&)>;

  virtual ~MemoryWork() = default;

  // Calls `done` once, from within or later. A status that is not Ok says what failed; what
  // the task writes is then undefined. This, bucket and layout live until then.
  virtual void Begin(const SegmentTask& task, size_t place, Done done) = 0;

  // Where this place's buffers come from.
  virtual Scratch& ScratchOf(size_t place) = 0;
};

// By bucket.on_gpus; then it requires CheckPlan(). Bucket, layout and context outlive it.
std::unique_ptr<MemoryWork> MakeMemoryWork(const Bucket& bucket, const Layout& layout,
                                           RunContext& context);

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_MEMORY_WORK_H_
