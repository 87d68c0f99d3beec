// The memory that GPUs' segments between hosts lie in, for one epoch.
#ifndef REIGEN_WORKER_GPU_GPU_SCRATCH_H_
#define REIGEN_WORKER_GPU_GPU_SCRATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/collective/executor.h"
#include "runtime/collective/scratch.h"
#include "runtime/gpudirect/scratch_choice.h"
#include "worker/gpu/device_network.h"
#include "worker/session/device_traffic.h"
#include "worker/session/memory_file.h"

namespace reigen::worker {

//   none (one host)
//   undecided --first bucket that needs it--> preparing --all mapped it--> ready
//                    \                            \--one cannot, or is late--> failed
//                     \--all direct--> ready, --staged against the job's wish--> failed
//
// Direct: each trainer's scratch on its GPU, registered by its dma-buf. Staged: one memfd,
// which those trainers map that cannot have it directly. Decided for each GPU by itself.
//
// Threads: one owner, the network's; the memfd is made by the executor.
// Memory:  of the memfd: until this is destroyed or the next epoch begins.
class GpuScratch {
 public:
  enum class State { kNone, kUndecided, kPreparing, kReady, kFailed };
  struct Options {
    std::vector<int> ranks;  // global, in local order
    bool require = false;    // staged is a failure
  };

  // All, and the network of BeginEpoch(), outlive it.
  GpuScratch(Options options, DeviceTrainers* trainers, collective::WorkExecutor* executor);
  ~GpuScratch() { *alive_ = false; }

  // `window_bytes`: of the epoch's stream; 0: one host.
  void BeginEpoch(DeviceNetwork* network, uint64_t window_bytes);
  uint64_t bytes() const { return bytes_; }  // of a scratch on a GPU; 0: none is needed
  // The job ends where a bucket between hosts has payloads elsewhere than on GPUs.
  bool required() const { return options_.require && bytes_ > 0; }

  // The GPU's own; its dma-buf is kept until it is decided. One that is in use stays, until
  // Release(): then this does nothing.
  void Add(int local, DeviceArena arena);
  void Decide(const std::vector<int>& leaders);
  void OnMapped(int local, const Status& status);
  void StopWaiting();
  // Nothing uses it any more, nothing will in this epoch.
  void Release(const std::string& why);

  State state() const { return state_; }
  const std::string& why() const { return why_; }  // failed
  // Ready: of each leader.
  collective::Scratch& of(int local);
  // Empty unless somebody is staged.
  std::span<std::byte> host_memory() const { return host_file_.memory(); }

 private:
  struct OnGpu {
    DeviceArena arena;
    std::unique_ptr<collective::Scratch> scratch;  // direct
  };

  gpudirect::ScratchChoice Choose(int local);
  Status MakeDirect(int local, const gpudirect::ScratchChoice& choice);
  void Stage();
  void WarnOfStaging(int local, const gpudirect::ScratchChoice& choice);
  void OnFile(StatusOr<MemoryFile> file);
  StatusOr<std::unique_ptr<collective::Scratch>> MakeScratch(std::span<std::byte> memory) const;
  void Fail(const std::string& why);

  const Options options_;
  DeviceTrainers* const trainers_;
  DeviceNetwork* network_ = nullptr;
  collective::WorkExecutor* const executor_;
  State state_ = State::kNone;
  std::string why_;
  uint64_t window_bytes_ = 0;
  uint64_t bytes_ = 0;
  uint64_t epochs_ = 0;             // for late files
  bool warned_ = false;             // of staging over RDMA; once in the job
  std::map<int, OnGpu> on_gpus_;    // by local rank
  std::set<int> staged_;            // local ranks
  std::set<int> unmapped_;          // of those, without an answer
  MemoryFile host_file_;
  std::unique_ptr<collective::Scratch> host_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_GPU_GPU_SCRATCH_H_
