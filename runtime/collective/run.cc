#include "runtime/collective/run.h"

namespace reigen::collective {

void Run::Do(MemoryWork& work, const SegmentTask& task, size_t place, std::function<void()> after) {
  ++work_out_;
  work.Begin(task, place, [this, after = std::move(after)](const Status& status) {
    --work_out_;
    if (!status.ok()) Fail(status);
    after();
  });
}

}  // namespace reigen::collective
