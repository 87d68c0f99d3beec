// Runs buckets: local reduce, steps between hosts, delivery to the ranks here.
#ifndef REIGEN_RUNTIME_COLLECTIVE_ENGINE_H_
#define REIGEN_RUNTIME_COLLECTIVE_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/collective/bucket.h"
#include "runtime/collective/executor.h"
#include "runtime/collective/gpus.h"
#include "runtime/transport/link.h"

namespace reigen::collective {

// The engine of one worker. Event-driven: never blocks, never spins.
//
//   Start --(scratch free, oldest of its stream first)--> running --> done(Status)
//
// Threads: one owner, the same as that of the links.
// Waiting: after Start(), CancelAll(), Transport::Progress(), the end of GPUs'
//          commands and when the executor's event_fd() is readable, call Progress().
// Order:   buckets of a stream start in the order of Start() and may finish out
//          of order (R5).
// Memory:  scratch comes from one pool; each stream has a window reserved that is
//          enough for its progress; only the surplus is shared (R5). Buckets on
//          GPUs work in the leaders' scratch instead, by the same rules.
// Errors:  a lost link or a plan mismatch fails the buckets that need it: `done`
//          gets a status that names peer and cause. What the outputs then hold is
//          undefined. A mismatch is FailedPrecondition, a lost link Unavailable.
//          After `done` no trainer memory is touched. What a failed bucket had
//          posted keeps its scratch until the links give it back: whoever ends
//          the epoch closes the links and calls Progress() until posts_out() is
//          0; only then may links be destroyed and scratch be reused or unmapped.
class Engine {
 public:
  // The link to a host; null if there is none (then its buckets fail). Links that
  // have posts out must stay where they are.
  using LinkTo = std::function<transport::Link*(int host)>;

  struct Options {
    std::span<std::byte> scratch;  // registered with the transport by the caller
    Gpus* gpus = nullptr;          // of buckets on GPUs; outlives the engine
  };

  // Waits for the memory work in flight (no peer is waited for). Requires: no
  // command of the GPUs is out.
  virtual ~Engine() = default;

  // Sets aside the window of a stream: 2 * max_channels segments.
  // ResourceExhausted when the scratch is not enough for one more.
  virtual Status OpenStream(uint32_t stream, uint64_t max_segment_bytes, int max_channels) = 0;
  // Requires: no unfinished bucket of that stream.
  virtual void CloseStream(uint32_t stream) = 0;

  // Buckets that nothing moves for between hosts (kNone) need no open stream.
  virtual void Start(Bucket bucket) = 0;

  // Polls the links, moves every running bucket on, calls `done`s, which may call
  // Start() and CancelAll(). Never blocks.
  virtual void Progress(Time now) = 0;

  // Ends every bucket that has not finished with `status`, after the memory work
  // in flight (whoever owns the GPUs ends their commands); no output is written
  // after their `done`, which a later Progress() calls. Needs no peer and no link.
  virtual void CancelAll(const Status& status) = 0;

  virtual size_t unfinished() const = 0;  // buckets whose `done` is still to come
  virtual size_t posts_out() const = 0;   // posts that links have not given back
};

// `executor` must outlive the engine.
std::unique_ptr<Engine> MakeEngine(const Engine::Options& options, Engine::LinkTo link_to,
                                   WorkExecutor* executor);

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_ENGINE_H_
