// A bucket that nothing moves for between hosts.
#ifndef REIGEN_RUNTIME_COLLECTIVE_LOCAL_RUN_H_
#define REIGEN_RUNTIME_COLLECTIVE_LOCAL_RUN_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/collective/layout.h"
#include "runtime/collective/memory_work.h"
#include "runtime/collective/run.h"

namespace reigen::collective {

// One host, no bytes, or a barrier: straight from the ranks' inputs to their
// outputs, block by block, several blocks at a time. A block is a run of elements over
// all tensors: a large tensor is split, many small ones are done in one go. On GPUs blocks
// go round the leaders, and a block is wholly one leader's. Needs no scratch.
class LocalRun final : public Run {
 public:
  LocalRun(Bucket bucket, RunContext& context);

  void Advance() override;

 private:
  const Layout layout_;
  const std::unique_ptr<MemoryWork> work_;
  const size_t most_out_;  // blocks
  uint64_t next_ = 0;    // block to begin with
  uint64_t done_ = 0;    // blocks
  uint64_t blocks_;
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_LOCAL_RUN_H_
