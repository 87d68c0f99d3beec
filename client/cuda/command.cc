#include "client/cuda/command.h"

#include <algorithm>
#include <string>

namespace reigen::sdk::cuda {
namespace {

bool IsTypeOfPartial(DataType type, DataType dtype) {
  return type == dtype || (IsHalf(dtype) && type == DataType::kFloat32);
}

// Threads of a launch would overwrite what others are still to read.
bool ChangesWidthInPlace(const Command& command) {
  const bool narrows = command.received != command.out;
  const bool widens = command.dtype != command.out;
  for (const CommandItem& item : command.items) {
    if (narrows && command.has_received && item.received == item.outputs[0]) return true;
    const auto inputs = item.inputs.begin();
    if (widens && std::find(inputs, inputs + command.inputs, item.outputs[0]) !=
                      inputs + command.inputs) {
      return true;
    }
  }
  return false;
}

Result Check(const Command& command, bool has_kernels) {
  if (command.inputs > kMaxCommandAddresses || command.outputs < 1 ||
      command.outputs > kMaxCommandAddresses) {
    return Invalid("a command with " + std::to_string(command.inputs) + " inputs and " +
                   std::to_string(command.outputs) + " outputs");
  }
  if (command.kind == CommandKind::kCopy) {
    return command.inputs == 1 && !command.has_received ? Ok() : Invalid("a copy of several");
  }
  if (command.inputs == 0 && !command.has_received) return Invalid("a reduction of nothing");
  if (!IsTypeOfPartial(command.received, command.dtype) ||
      !IsTypeOfPartial(command.out, command.dtype) || command.divisor == 0) {
    return Invalid("a reduction of " + std::string(Name(command.dtype)) + " with " +
                   std::string(Name(command.received)) + " to " +
                   std::string(Name(command.out)) + " by " + std::to_string(command.divisor));
  }
  if (ChangesWidthInPlace(command)) return Invalid("a reduction in place to another type");
  if (!has_kernels) return Fail(REIGEN_FAILED_PRECONDITION, "a reduction without kernels");
  return Ok();
}

Combine CombineOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kMin: return Combine::kMin;
    case ReduceOp::kMax: return Combine::kMax;
    case ReduceOp::kProduct: return Combine::kProduct;
    default: return Combine::kSum;
  }
}

ReduceBatch EmptyBatch(const Command& command) {
  ReduceBatch batch = {};
  batch.prescale = command.prescale;
  batch.postscale = command.postscale;
  batch.divisor = command.divisor;
  batch.input_count = command.inputs;
  batch.combine = CombineOf(command.op);
  batch.received_wide = command.received != command.dtype;
  batch.out_wide = command.out != command.dtype;
  return batch;
}

void AddReductions(const Command& command, std::vector<ReduceBatch>* batches) {
  for (const CommandItem& item : command.items) {
    if (item.count == 0) continue;
    if (batches->empty() || batches->back().item_count == kMaxReduceItems) {
      batches->push_back(EmptyBatch(command));
    }
    ReduceItem& to = batches->back().items[batches->back().item_count++];
    for (uint32_t k = 0; k < command.inputs; ++k) {
      to.inputs[k] = reinterpret_cast<const void*>(item.inputs[k]);
    }
    if (command.has_received) to.received = reinterpret_cast<const void*>(item.received);
    to.out = reinterpret_cast<void*>(item.outputs[0]);
    to.count = item.count;
  }
}

}  // namespace

Result MakeCommandPlan(const Command& command, bool has_kernels, CommandPlan* plan) {
  REIGEN_SDK_RETURN_IF_ERROR(Check(command, has_kernels));
  const bool reduces = command.kind == CommandKind::kReduce;
  plan->dtype = command.dtype;
  if (reduces) AddReductions(command, &plan->reductions);
  const size_t element_bytes = ElementBytes(reduces ? command.out : command.dtype);
  std::vector<DevicePack> copies;
  for (uint32_t k = reduces ? 1 : 0; k < command.outputs; ++k) {
    copies.clear();
    const bool from_first = reduces || (command.reads_host && k > 0);
    for (const CommandItem& item : command.items) {
      const CuAddress from = from_first ? item.outputs[0] : item.inputs[0];
      if (item.outputs[k] == from) continue;
      copies.push_back({.tensor = item.outputs[k], .packed = from,
                        .bytes = static_cast<size_t>(item.count * element_bytes)});
    }
    AddToPlan(copies, has_kernels, true,
              command.reads_host && k == 0 ? &plan->first_copies : &plan->copies);
  }
  return Ok();
}

}  // namespace reigen::sdk::cuda
