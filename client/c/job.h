// What an initialised process can do: the job it joined, with daemons or without.
#ifndef REIGEN_CLIENT_C_JOB_H_
#define REIGEN_CLIENT_C_JOB_H_

#include <cstdint>
#include <memory>

#include "client/c/arena.h"
#include "client/c/futex.h"
#include "client/c/operation.h"
#include "client/c/request.h"
#include "client/c/result.h"
#include "runtime/base/clock.h"

namespace reigen::sdk {

// Threads: any.
class Job {
 public:
  virtual ~Job() = default;
  virtual Place place() const = 0;
  // Starts it; afterwards it ends, well or not. On failure it was never started.
  virtual Result Submit(const std::shared_ptr<Operation>& operation) = 0;
  // Takes what has ended. Never blocks.
  virtual void Progress() = 0;
  // Until the operation has ended.
  virtual Sleep Wait(Operation& operation, Time deadline) = 0;
  // Memory for reigen_alloc.
  virtual Result Allocate(uint64_t bytes, Block* out) = 0;
  // Leaves; everything pending ends.
  virtual void Leave() = 0;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_JOB_H_
