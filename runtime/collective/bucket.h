// A plan made concrete on this host.
#ifndef REIGEN_RUNTIME_COLLECTIVE_BUCKET_H_
#define REIGEN_RUNTIME_COLLECTIVE_BUCKET_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/base/collective_id.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"

namespace reigen::collective {

// One tensor of a bucket, as this host has it. All memory is the trainers'
// (arena, on GPUs if the bucket is), element-aligned, and outlives the collective.
struct BucketTensor {
  uint64_t count = 0;      // elements
  uint64_t name_hash = 0;  // NameHash(name): where its chains begin (R2)
  // All-reduce: one per contributing local rank, in rank order; may be empty.
  // Broadcast: the root's tensor, on the root's host only.
  std::vector<const std::byte*> inputs;
  // One per local rank that gets the result (may equal its input).
  std::vector<std::byte*> outputs;
};

// A plan made concrete on this host. Everything but the pointers, `self` and
// the callback is the same on every host of `hosts`.
struct Bucket {
  CollectiveId id;
  CollectiveKind kind = CollectiveKind::kAllreduce;
  Algorithm algorithm = Algorithm::kNone;
  ReduceOp op = ReduceOp::kSum;
  DataType dtype = DataType::kFloat32;
  DataType wire = DataType::kFloat32;  // of partial sums (R3)
  double prescale = 1.0;
  double postscale = 1.0;
  uint64_t divisor = 1;
  std::vector<int> hosts;      // host numbers, in ring order
  int self = 0;                // index of this host in `hosts`
  int root = 0;                // broadcast: index in `hosts`
  uint64_t segment_bytes = 0;  // a piece in flight, at most
  int channels = 1;            // segments in flight per direction: 2 * channels
  bool on_gpus = false;        // the memory work is the GPUs' (gpus.h); of this host alone
  std::vector<BucketTensor> tensors;
  std::function<void(const Status&)> done;  // called from Progress(), once
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_BUCKET_H_
