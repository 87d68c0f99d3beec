#include "runtime/collective/gpu_work.h"

#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/collective/gpus.h"

namespace reigen::collective {
namespace {

// The commands of a task that are out, and whom to tell.
struct TaskOut {
  size_t commands = 0;
  Status status;  // the first error
  MemoryWork::Done done;
};

}  // namespace

GpuWork::GpuWork(const Bucket& bucket, const Layout& layout, RunContext& context)
    : commands_(bucket, layout),
      context_(context),
      leaders_(static_cast<size_t>(context.gpus->leaders())),
      turn_(bucket.id.sequence % leaders_) {}

int GpuWork::LeaderOf(size_t place) const { return static_cast<int>((place + turn_) % leaders_); }

Scratch& GpuWork::ScratchOf(size_t place) { return context_.gpus->scratch(LeaderOf(place)); }

void GpuWork::Begin(const SegmentTask& task, size_t place, Done done) {
  std::vector<GpuCommand> commands = commands_.Of(task);
  if (commands.empty()) return done(OkStatus());
  const auto out = std::make_shared<TaskOut>();
  out->commands = commands.size();
  out->done = std::move(done);
  for (GpuCommand& command : commands) {
    ++context_.commands_out;
    context_.gpus->Submit(LeaderOf(place), std::move(command),
                          [&context = context_, out](const Status& status) {
                            --context.commands_out;
                            if (out->status.ok()) out->status = status;
                            if (--out->commands == 0) out->done(out->status);
                          });
  }
}

}  // namespace reigen::collective
