// A segment's memory work as commands for GPUs. Pure.
#ifndef REIGEN_RUNTIME_COLLECTIVE_GPU_COMMANDS_H_
#define REIGEN_RUNTIME_COLLECTIVE_GPU_COMMANDS_H_

#include <vector>

#include "runtime/collective/bucket.h"
#include "runtime/collective/gpus.h"
#include "runtime/collective/layout.h"
#include "runtime/collective/segment_task.h"

namespace reigen::collective {

// What commands do to memory is, to the bit, what SegmentWork does.
//
//   task             kind    received  inputs    outputs      types: received -> out
//   kLoadSum         reduce            ranks'    out                          wire
//   kAddLocal        reduce  out       ranks'    out          wire         -> wire
//   kAddLocalFinal   reduce  in        ranks'    ranks', out  wire         -> dtype, finished
//   kCombine         reduce  in        right     out          all three wire, no scale
//   kDeliverWire     reduce  in                  ranks'       wire         -> dtype, finished
//   kReduceInPlace   reduce            ranks'    ranks'                       dtype, finished
//   kLoadRoot        copy              root's    ranks', out
//   kBroadcastInPlace copy             root's    ranks'
//   kDeliverFinal    copy              in        ranks'
//
// The pieces of a segment are items of one command, as far as Gpus::kMaxItems allows and as
// long as they have equally many inputs and outputs. Of more outputs than Gpus::kMaxInputs
// the rest are copied from the first, by commands behind those.
//
// In place: an output may be an input of the same item, never of another.
// Scratch is the last output: it may be far from the GPU, and others be copied from the first.
class GpuCommands {
 public:
  // Both outlive it.
  GpuCommands(const Bucket& bucket, const Layout& layout) : bucket_(bucket), layout_(layout) {}

  // To be given to one leader in this order. Empty: there is nothing to do.
  // Requires: CheckPlan(bucket) is Ok.
  std::vector<GpuCommand> Of(const SegmentTask& task) const;

 private:
  const Bucket& bucket_;
  const Layout& layout_;
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_GPU_COMMANDS_H_
