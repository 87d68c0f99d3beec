#include "runtime/collective/run.h"

namespace reigen::collective {

void Run::Do(uint64_t bytes, std::function<void()> work, std::function<void()> after) {
  if (bytes <= kInlineBytes) {
    work();
    after();
    return;
  }
  ++work_out_;
  ++context_.work_out;
  context_.executor.Submit(std::move(work), [this, after = std::move(after)] {
    --work_out_;
    --context_.work_out;
    after();
  });
}

}  // namespace reigen::collective
