// The GPUs of this host's trainers, as the engine and the gate see them.
#ifndef REIGEN_WORKER_GPU_GPU_POOL_H_
#define REIGEN_WORKER_GPU_GPU_POOL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/local/local.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/collective/gpus.h"
#include "worker/gpu/command_book.h"
#include "worker/gpu/device_arenas.h"
#include "worker/gpu/gate.h"
#include "worker/gpu/gpu_scratch.h"
#include "worker/session/device_traffic.h"

namespace reigen::worker {

// Each trainer with device arenas is a leader, in the order in which they came; an index
// stays its own through the epoch, also after its session has ended: then what it is given
// fails.
//
// Threads: one owner, that of sessions and engine.
// Errors:  a command ends with an error when the GPU reports one, when the session ends
//          (Unavailable: the coordinator hears why from others), when it was not answered
//          for `answer_limit`, and at EndBy()'s time. Answers that come later are ignored.
class GpuPool : public collective::Gpus, public DeviceHandler, public GateGpus {
 public:
  struct Options {
    std::vector<int> ranks;  // global, in local order
    Duration warn_after = seconds(10);
    Duration answer_limit = seconds(300);
  };

  // All outlive this.
  GpuPool(Options options, DeviceTrainers* trainers, GpuScratch* scratch);

  // --- the loop
  // Old leaders are forgotten; no bucket runs.
  void BeginEpoch();
  // Tells whom it concerns what has ended; then the engine and the gate can go on.
  void Progress(Time now);
  std::optional<Time> NextDeadline() const;
  // What is still out then ends.
  void EndBy(Time time) { end_by_ = time; }
  // It ends now, also what comes later.
  void EndAll(const Status& why);
  // No bucket runs and no post is out: memory of sessions that have ended is let go. What
  // stays of one that broke is still known as a GPU's: buckets that want it fail.
  void FreeEnded();

  // --- collective::Gpus
  int leaders() const override { return static_cast<int>(leaders_.size()); }
  collective::Scratch& scratch(int leader) override;
  void Submit(int leader, collective::GpuCommand command,
              std::function<void(const Status&)> done) override;

  // --- DeviceHandler
  void OnDeviceArena(int local, DeviceArena arena) override;
  void OnPeerArenaOpened(int local, int owner, uint32_t arena, const Status& status) override;
  void OnHostScratchMapped(int local, const Status& status) override;
  void OnNoDeviceUse(int local, const std::string& why) override;
  void OnCommandDone(int local, const local::DoneSlot& done) override;
  void OnSessionEnded(int local, bool memory_stays) override;

  // --- GateGpus
  bool IsDevice(const std::byte* address) const override;
  Fitness Fits(const collective::Bucket& bucket) override;
  std::string WhyNotUsed() const override { return told_; }
  void StopWaiting() override;
  void Mirror(int local, const Request& request, const std::string& why,
              Mirrored mirrored) override;

 private:
  struct Trainer {
    bool ended = true;          // or not there yet
    bool memory_stays = false;  // ended, and plans may still name it
    bool stuck = false;
    bool gave_memory = false;  // since this was last told to let go of it
    CommandBook book;
  };

  std::string Name(int local) const { return "rank " + std::to_string(options_.ranks[local]); }
  Status WhyNoCommands(int local) const;
  StatusOr<local::MemoryPlace> Locate(int local, const std::byte* at, uint64_t bytes) const;
  void Order(int local, const local::CommandSlot& slot, std::vector<CommandWord> words,
             CommandBook::Done done);
  void GiveUp(int local, const Status& why);
  void CheckAnswers(Time now);
  Fitness FitsArenas(const collective::Bucket& bucket);
  Fitness FitsScratch();
  Fitness NotForGood(const std::string& why);
  StatusOr<std::vector<std::byte*>> FindMirror(int local, const RequestSpec& spec,
                                               const local::DoneSlot& done);

  const Options options_;
  DeviceTrainers* const trainers_;
  GpuScratch* const scratch_;
  Time now_{};
  DeviceArenas arenas_;
  std::vector<Trainer> state_;  // by local rank
  std::vector<int> leaders_;    // local ranks
  collective::Scratch no_scratch_{{}};
  // To be called by Progress().
  std::vector<std::function<void()>> calls_;
  std::optional<Time> end_by_;
  Status over_;            // EndAll's
  std::string told_;       // why the trainers should not use device arenas; empty: they may
  std::string mirror_why_; // logged last
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_GPU_GPU_POOL_H_
