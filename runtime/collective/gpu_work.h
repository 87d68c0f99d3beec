// A bucket's memory work done by the GPUs of this host's trainers.
#ifndef REIGEN_RUNTIME_COLLECTIVE_GPU_WORK_H_
#define REIGEN_RUNTIME_COLLECTIVE_GPU_WORK_H_

#include <cstddef>

#include "runtime/collective/bucket.h"
#include "runtime/collective/gpu_commands.h"
#include "runtime/collective/layout.h"
#include "runtime/collective/memory_work.h"
#include "runtime/collective/run_context.h"
#include "runtime/collective/scratch.h"
#include "runtime/collective/segment_task.h"

namespace reigen::collective {

// Places go round the leaders, beginning with another one at each collective, so that small
// buckets are not all the first one's.
class GpuWork final : public MemoryWork {
 public:
  GpuWork(const Bucket& bucket, const Layout& layout, RunContext& context);

  void Begin(const SegmentTask& task, size_t place, Done done) override;
  Scratch& ScratchOf(size_t place) override;

 private:
  int LeaderOf(size_t place) const;

  const GpuCommands commands_;
  RunContext& context_;
  const size_t leaders_;
  const size_t turn_;
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_GPU_WORK_H_
