#include "runtime/collective/memory_work.h"

#include <cstdint>
#include <utility>

#include "runtime/collective/gpu_work.h"
#include "runtime/collective/segment_work.h"

namespace reigen::collective {
namespace {

// Work that reads and writes more bytes than this goes to the executor. There it
// costs 5 to 10 us more, as much as so many bytes take; here it holds up all else.
constexpr uint64_t kInlineBytes = 128 * 1024;

class HostWork final : public MemoryWork {
 public:
  HostWork(const Bucket& bucket, const Layout& layout, RunContext& context)
      : work_(bucket, layout), context_(context) {}

  void Begin(const SegmentTask& task, size_t, Done done) override {
    if (work_.Traffic(task.id) <= kInlineBytes) {
      work_.Do(task);
      return done(OkStatus());
    }
    ++context_.work_out;
    context_.executor.Submit([this, task] { work_.Do(task); },
                             [this, done = std::move(done)] {
                               --context_.work_out;
                               done(OkStatus());
                             });
  }

  Scratch& ScratchOf(size_t) override { return context_.scratch; }

 private:
  const SegmentWork work_;
  RunContext& context_;
};

}  // namespace

std::unique_ptr<MemoryWork> MakeMemoryWork(const Bucket& bucket, const Layout& layout,
                                           RunContext& context) {
  if (bucket.on_gpus) return std::make_unique<GpuWork>(bucket, layout, context);
  return std::make_unique<HostWork>(bucket, layout, context);
}

}  // namespace reigen::collective
