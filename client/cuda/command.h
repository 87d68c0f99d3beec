// Work of a GPU on memory of GPUs (and of scratch that GPUs reach), as a worker asks for it
// (local.h's CommandSlot), and the launches and copies that do it. Pure.
#ifndef REIGEN_CLIENT_CUDA_COMMAND_H_
#define REIGEN_CLIENT_CUDA_COMMAND_H_

#include <array>
#include <cstdint>
#include <vector>

#include "client/c/result.h"
#include "client/cuda/driver_api.h"
#include "client/cuda/pack_plan.h"
#include "client/cuda/reduce_kernel.h"
#include "runtime/base/dtype.h"

namespace reigen::sdk::cuda {

// kReduce: out = finish(received (+) (inputs[0] * prescale (+) inputs[1] * prescale ...)), in
// the order and with the bits of runtime/reduce/kernels.h; without inputs: finish(received).
// kCopy: inputs[0] to every output.
enum class CommandKind : uint8_t { kReduce, kCopy };

inline constexpr int kMaxCommandAddresses = kMaxReduceInputs;

// Addresses have the alignment of their elements. An output may be one of the inputs or the
// received (same begin), never overlap it otherwise, nor anything of another item.
struct CommandItem {
  uint64_t count = 0;      // elements
  CuAddress received = 0;  // if the command has received
  std::array<CuAddress, kMaxCommandAddresses> inputs{};
  std::array<CuAddress, kMaxCommandAddresses> outputs{};
};

struct Command {
  CommandKind kind = CommandKind::kReduce;
  DataType dtype = DataType::kFloat32;     // of the inputs
  DataType received = DataType::kFloat32;  // dtype, or float32 for halves
  DataType out = DataType::kFloat32;       // dtype, or float32 for halves
  ReduceOp op = ReduceOp::kSum;
  double prescale = 1.0;
  double postscale = 1.0;
  uint64_t divisor = 1;
  uint32_t inputs = 0;   // of each item
  uint32_t outputs = 1;  // of each item; all get the same
  bool has_received = false;
  bool reads_host = false;  // the input of a copy is memory of the host
  std::vector<CommandItem> items;
};

struct CommandPlan {
  DataType dtype = DataType::kFloat32;
  std::vector<ReduceBatch> reductions;  // first
  DevicePackPlan first_copies;          // then; memory of the host is read once
  DevicePackPlan copies;                // after them
};

// InvalidArgument for what cannot be asked for.
Result MakeCommandPlan(const Command& command, bool has_kernels, CommandPlan* plan);

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_COMMAND_H_
