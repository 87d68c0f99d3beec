#include "worker/gpu/command_format.h"

#include <cstring>

#include "runtime/base/dtype.h"

namespace reigen::worker {
namespace {

using collective::GpuCommand;
using collective::GpuItem;

template <typename T>
CommandWord ToWord(const T& record) {
  CommandWord word;
  static_assert(sizeof record == sizeof word);
  std::memcpy(word.data(), &record, sizeof word);
  return word;
}

Status CheckLimits(const GpuCommand& command) {
  if (command.items.empty() || command.items.size() > local::kMaxCommandItems) {
    return Internal("a GPU command of " + std::to_string(command.items.size()) + " items");
  }
  const GpuItem& first = command.items[0];
  if (first.inputs.size() > local::kMaxCommandTensors || first.outputs.empty() ||
      first.outputs.size() > local::kMaxCommandTensors) {
    return Internal("a GPU command of " + std::to_string(first.inputs.size()) + " inputs and " +
                    std::to_string(first.outputs.size()) + " outputs");
  }
  for (const GpuItem& item : command.items) {
    if (item.inputs.size() != first.inputs.size() || item.outputs.size() != first.outputs.size() ||
        (item.received == nullptr) != (first.received == nullptr)) {
      return Internal("a GPU command of unequal items");
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<FormattedCommand> FormatCommand(const GpuCommand& command, const Locate& locate) {
  REIGEN_RETURN_IF_ERROR(CheckLimits(command));
  const GpuItem& first = command.items[0];
  FormattedCommand out;
  local::CommandSlot& slot = out.slot;
  slot.kind = command.kind == GpuCommand::Kind::kCopy ? local::CommandKind::kCopy
                                                      : local::CommandKind::kReduce;
  slot.item_count = static_cast<uint32_t>(command.items.size());
  slot.prescale = command.prescale;
  slot.postscale = command.postscale;
  slot.divisor = command.divisor;
  slot.dtype = static_cast<uint8_t>(command.dtype);
  slot.received_dtype = static_cast<uint8_t>(command.received);
  slot.out_dtype = static_cast<uint8_t>(command.out);
  slot.op = static_cast<uint8_t>(command.op);
  slot.inputs = static_cast<uint8_t>(first.inputs.size());
  slot.outputs = static_cast<uint8_t>(first.outputs.size());
  slot.received = first.received != nullptr ? 1 : 0;
  const auto add = [&](const std::byte* at, uint64_t count, DataType dtype) -> Status {
    REIGEN_ASSIGN_OR_RETURN(const local::MemoryPlace place,
                            locate(at, count * ElementBytes(dtype)));
    out.words.push_back(ToWord(place));
    return OkStatus();
  };
  for (const GpuItem& item : command.items) {
    out.words.push_back(ToWord(local::ItemSize{.count = item.count}));
    if (item.received != nullptr) {
      REIGEN_RETURN_IF_ERROR(add(item.received, item.count, command.received));
    }
    for (const std::byte* input : item.inputs) {
      REIGEN_RETURN_IF_ERROR(add(input, item.count, command.dtype));
    }
    for (const std::byte* output : item.outputs) {
      REIGEN_RETURN_IF_ERROR(add(output, item.count, command.out));
    }
  }
  return out;
}

FormattedCommand FormatMirror(uint64_t request) {
  FormattedCommand out;
  out.slot.kind = local::CommandKind::kMirror;
  out.slot.request = request;
  return out;
}

}  // namespace reigen::worker
