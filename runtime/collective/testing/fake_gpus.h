// GPUs for tests: commands are done later, on ordinary memory, by the CPU's kernels.
#ifndef REIGEN_RUNTIME_COLLECTIVE_TESTING_FAKE_GPUS_H_
#define REIGEN_RUNTIME_COLLECTIVE_TESTING_FAKE_GPUS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/collective/gpus.h"
#include "runtime/collective/scratch.h"

namespace reigen::collective {

// Addresses as the engine and links have them, and the bytes that they stand for.
struct GpuScratch {
  std::span<std::byte> addresses;
  std::span<std::byte> bytes;
};

struct FakeGpusOptions {
  int leaders = 2;
  std::vector<GpuScratch> scratch = {};  // of each leader, or one that all share
  uint64_t seed = 1;
};

// A command's memory is read and written at one moment between Submit() and its `done`; what
// comes before and after is drawn from the seed. Leaders overtake each other; one leader's
// commands are done in order. Commands that break the contract of Gpus end the test.
//
// Threads: one.
class FakeGpus final : public Gpus {
 public:
  explicit FakeGpus(const FakeGpusOptions& options);

  int leaders() const override { return static_cast<int>(queues_.size()); }
  Scratch& scratch(int leader) override;
  void Submit(int leader, GpuCommand command, std::function<void(const Status&)> done) override;

  // Lets some commands begin and some end.
  void Turn();
  bool busy() const;  // whether Turn() will still get somewhere
  size_t out() const;
  uint64_t submitted() const { return submitted_; }

  void OpenStream(uint32_t stream, size_t window_bytes);

  // The leader's commands stay as they are until EndAll().
  void Stop(int leader) { queues_[static_cast<size_t>(leader)].stopped = true; }
  // The command submitted after so many more fails; its outputs then hold nonsense.
  void FailAfter(uint64_t commands, const Status& status);
  // As the owner of the real ones does when a session or the epoch ends.
  void EndAll(const Status& status);

 private:
  struct Out {
    GpuCommand command;
    std::function<void(const Status&)> done;
    Status status;  // to end with
    bool executed = false;
  };
  struct Queue {
    std::deque<Out> commands;
    bool stopped = false;
  };

  void EndFirst(Queue& queue, Status status);
  void ToBytes(GpuCommand& command) const;

  const std::vector<GpuScratch> memory_;
  std::deque<Scratch> scratches_;
  std::vector<Queue> queues_;  // by leader
  std::mt19937_64 random_;
  uint64_t submitted_ = 0;
  std::optional<uint64_t> fail_at_;
  Status failure_;
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_TESTING_FAKE_GPUS_H_
