// The GPUs of this host's trainers, as an engine has them work.
#ifndef REIGEN_RUNTIME_COLLECTIVE_GPUS_H_
#define REIGEN_RUNTIME_COLLECTIVE_GPUS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/collective/scratch.h"

namespace reigen::collective {

// What is done to one run of elements. Addresses stand for memory of GPUs (or scratch that
// GPUs reach); nobody here touches it.
struct GpuItem {
  uint64_t count = 0;                         // elements
  const std::byte* received = nullptr;        // of a reduction; null: none
  std::vector<const std::byte*> inputs = {};  // in rank order
  std::vector<std::byte*> outputs = {};       // at least one; all get the same
};

// kReduce: out = finish(received (+) (inputs[0] * prescale (+) inputs[1] * prescale ...)),
// with the order and the bits of reduce/kernels.h; no inputs: finish(received).
// kCopy: inputs[0] to every output.
//
// An output may be one of the inputs or the received (same start), never overlap it
// otherwise.
struct GpuCommand {
  enum class Kind : uint8_t { kReduce, kCopy };
  Kind kind = Kind::kReduce;
  DataType dtype = DataType::kFloat32;
  DataType received = DataType::kFloat32;  // dtype, or float32 for halves
  DataType out = DataType::kFloat32;       // dtype, or float32 for halves
  ReduceOp op = ReduceOp::kSum;
  double prescale = 1.0;
  double postscale = 1.0;
  uint64_t divisor = 1;
  // At least one, at most Gpus::kMaxItems, none without elements. All with as many inputs
  // and outputs as the first, and all or none with a received.
  std::vector<GpuItem> items;
};

// Threads: the engine's owner, who calls Engine::Progress() after commands have ended.
// Order:   commands to one leader are done in the order of Submit; of several leaders in
//          any order. What a command reads is there once the one that wrote it is done.
// End:     whoever owns this ends all that is out, at the latest a second after the
//          engine's CancelAll, and all before the engine is destroyed.
// Memory:  leaders keep their numbers, and their scratch stays, while the engine has an
//          unfinished bucket on GPUs or posts out; more leaders may come.
class Gpus {
 public:
  static constexpr size_t kMaxInputs = 16;  // of an item, and outputs
  static constexpr size_t kMaxItems = 256;  // of a command

  virtual ~Gpus() = default;

  // Trainers that take commands: numbers 0 to leaders() - 1, at least one. A bucket's
  // work is spread over them.
  virtual int leaders() const = 0;
  // Memory that commands to this leader, and links, work in. Leaders may share one. Whoever
  // owns this opens a window in it, 2 segments at least, for each stream that has buckets on
  // GPUs between hosts; the engine's OpenStream() knows nothing of it.
  virtual Scratch& scratch(int leader) = 0;
  // `done` comes later, never from within; not Ok: what the outputs hold is undefined.
  virtual void Submit(int leader, GpuCommand command,
                      std::function<void(const Status&)> done) = 0;
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_GPUS_H_
