// Buckets on their way to the engine: those of CUDA tensors learn where they run.
#ifndef REIGEN_WORKER_GPU_GATE_H_
#define REIGEN_WORKER_GPU_GATE_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/collective/bucket.h"
#include "worker/core/request.h"
#include "worker/core/request_table.h"

namespace reigen::worker {

// What the gate asks of the trainers' GPUs.
class GateGpus {
 public:
  struct Fitness {
    enum class Verdict {
      kFits,
      kLater,  // an answer is still out
      kNot,
    };
    Verdict verdict = Verdict::kNot;
    std::string why;  // not
  };
  // The payloads of a mirrored request, as its tensors are in order.
  using Mirrored = std::function<void(StatusOr<std::vector<std::byte*>>)>;

  virtual ~GateGpus() = default;
  virtual bool IsDevice(const std::byte* address) const = 0;
  // Of a bucket whose tensors are all in device arenas.
  virtual Fitness Fits(const collective::Bucket& bucket) = 0;
  // Why trainers keep CUDA tensors in host memory, where that is known; else empty.
  virtual std::string WhyNotUsed() const = 0;
  // What has not been answered counts as refused.
  virtual void StopWaiting() = 0;
  // Never calls back from within.
  virtual void Mirror(int local, const Request& request, const std::string& why,
                      Mirrored mirrored) = 0;
};

// In order, of each stream (R5):
//
//   no tensor on a GPU -----------------------------------------> started on the host
//   all on GPUs, all can reach all of it -----------------------> started on GPUs
//   ... as far as is known: waits for the answers, with a limit
//   else: its requests are mirrored to memory of the host ------> started on the host
//
// A request is mirrored as a whole and once: its other buckets run on the host from then
// on, after those that run on GPUs have ended (what they left is mirrored too). The
// pointers of mirrored requests are replaced, in their instances as well.
//
// Pure. Threads: none of its own; one caller.
// Errors:  a bucket that cannot be started has its `done` called with the reason, as those
//          have that CancelAll() ends.
class Gate {
 public:
  struct Options {
    // A GPU opens memory once it is idle: behind the trainer's own kernels.
    Duration wait_limit = seconds(60);
    bool require = false;  // buckets of CUDA tensors between hosts run on GPUs, or fail
  };

  // Both outlive it.
  Gate(Options options, GateGpus* gpus, std::function<void(collective::Bucket)> start);

  // Tensor i of the bucket is tensor tensors[i] of instances[i].
  void Push(collective::Bucket bucket, std::vector<InstancePtr> instances,
            std::vector<uint32_t> tensors, Time now);
  // After anything happened: starts what can be started. False: nothing was.
  bool Step(Time now);
  void CancelAll(const Status& status);

  size_t waiting() const;
  std::optional<Time> NextDeadline() const;

 private:
  enum class Memory { kHost, kDevice, kMixed };
  struct Entry {
    collective::Bucket bucket;
    std::vector<InstancePtr> instances;
    std::vector<uint32_t> tensors;
    std::optional<Time> waits_since;  // for answers
    int mirrors_out = 0;
    Status failed;
  };
  using EntryPtr = std::shared_ptr<Entry>;

  bool Leaves(const EntryPtr& entry, Time now);
  Memory MemoryOf(const Entry& entry) const;
  bool MirrorOrWait(const EntryPtr& entry, const std::string& why);
  void MirrorRequest(const EntryPtr& entry, const InstancePtr& instance, int local,
                     const std::string& why);
  void Replace(const InstancePtr& instance, int local, const std::vector<std::byte*>& memory);
  void StartOnHost(Entry& entry);
  void StartOnGpus(Entry& entry);

  const Options options_;
  GateGpus* const gpus_;
  const std::function<void(collective::Bucket)> start_;
  std::map<uint32_t, std::list<EntryPtr>> streams_;
  std::map<const Instance*, int> on_gpus_;  // buckets that run there
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_GPU_GATE_H_
