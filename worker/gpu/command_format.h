// From an engine's command to what lies in a trainer's command queue. Pure.
#ifndef REIGEN_WORKER_GPU_COMMAND_FORMAT_H_
#define REIGEN_WORKER_GPU_COMMAND_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "proto/local/local.h"
#include "runtime/base/status.h"
#include "runtime/collective/gpus.h"
#include "worker/session/commands.h"

namespace reigen::worker {

struct FormattedCommand {
  local::CommandSlot slot;  // its id is not set
  std::vector<CommandWord> words;
};

// Where `bytes` from an address on are, as the trainer that gets the command knows it.
using Locate = std::function<StatusOr<local::MemoryPlace>(const std::byte* at, uint64_t bytes)>;

// Errors: of `locate`; Internal when the command is over the protocol's limits.
StatusOr<FormattedCommand> FormatCommand(const collective::GpuCommand& command,
                                         const Locate& locate);

FormattedCommand FormatMirror(uint64_t request);

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_GPU_COMMAND_FORMAT_H_
