// What the runs of an engine share.
#ifndef REIGEN_RUNTIME_COLLECTIVE_RUN_CONTEXT_H_
#define REIGEN_RUNTIME_COLLECTIVE_RUN_CONTEXT_H_

#include <cstddef>

#include "runtime/collective/executor.h"
#include "runtime/collective/gpus.h"
#include "runtime/collective/posts.h"
#include "runtime/collective/scratch.h"

namespace reigen::collective {

struct RunContext {
  Scratch scratch;
  Posts posts;
  WorkExecutor& executor;
  Gpus* gpus = nullptr;
  size_t work_out = 0;      // given to the executor, `done` not yet called
  size_t commands_out = 0;  // the same of the GPUs
  size_t returns = 0;       // of scratch that was used: others may go on
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_RUN_CONTEXT_H_
