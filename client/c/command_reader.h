// Commands as the worker writes them, checked, and with this process's addresses. Pure.
#ifndef REIGEN_CLIENT_C_COMMAND_READER_H_
#define REIGEN_CLIENT_C_COMMAND_READER_H_

#include <cstdint>
#include <span>

#include "client/c/memory_map.h"
#include "client/c/result.h"
#include "client/cuda/command.h"
#include "proto/local/local.h"

namespace reigen::sdk {

// The first slot of a command.
local::CommandSlot HeadOf(const local::Slot& slot);
// How many slots it takes, whatever nonsense it is: at least one.
uint64_t SlotsOf(const local::CommandSlot& head);
// Of a whole command (SlotsOf) that is no mirror. InvalidArgument names what is wrong: a
// command that is Ok touches nothing outside the map's ranges.
Result ReadCommand(std::span<const local::Slot> slots, const MemoryMap& memory,
                   cuda::Command* out);

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_COMMAND_READER_H_
