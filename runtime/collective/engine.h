// Runs buckets: local reduce, steps between hosts, delivery to the ranks here.
#ifndef REIGEN_RUNTIME_COLLECTIVE_ENGINE_H_
#define REIGEN_RUNTIME_COLLECTIVE_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/collective_id.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/collective/executor.h"
#include "runtime/transport/link.h"

namespace reigen::collective {

// One tensor of a bucket, as this host has it. All memory is the trainers'
// (arena), element-aligned, and outlives the collective.
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
  std::vector<BucketTensor> tensors;
  std::function<void(const Status&)> done;  // called from Progress(), once
};

// The engine of one worker. Event-driven: never blocks, never spins.
//
//   Start --(scratch free, oldest of its stream first)--> running --> done(Status)
//
// Threads: one owner, the same as that of the links.
// Order:   buckets of a stream start in the order of Start() and may finish out
//          of order (R5).
// Memory:  scratch comes from one pool; each stream has a window reserved that is
//          enough for its progress; only the surplus is shared (R5).
// Errors:  a lost link or a plan mismatch fails the buckets that need it: `done`
//          gets a status that names peer and cause. What the outputs then hold is
//          undefined. A mismatch is FailedPrecondition, a lost link Unavailable.
class Engine {
 public:
  // The link to a host; null if there is none (then its buckets fail).
  using LinkTo = std::function<transport::Link*(int host)>;

  struct Options {
    std::span<std::byte> scratch;  // registered with the transport by the caller
    size_t eager_bytes = 4096;     // Transport::EagerBytes()
  };

  virtual ~Engine() = default;

  // Sets aside the window of a stream. ResourceExhausted when the scratch is not
  // enough for one more.
  virtual Status OpenStream(uint32_t stream, uint64_t max_segment_bytes, int max_channels) = 0;
  virtual void CloseStream(uint32_t stream) = 0;

  virtual void Start(Bucket bucket) = 0;

  // Polls the links, moves every running bucket on. Never blocks.
  virtual void Progress(Time now) = 0;

  // Ends every bucket that has not finished with `status`, after the memory work
  // in flight; no output is written after their `done`.
  virtual void CancelAll(const Status& status) = 0;

  virtual size_t unfinished() const = 0;
};

std::unique_ptr<Engine> MakeEngine(const Engine::Options& options, Engine::LinkTo link_to,
                                   WorkExecutor* executor);

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_ENGINE_H_
