// Does on this process's GPU what the worker asks for: commands on memory of the GPUs of
// this host's trainers, and mirrors of payloads in host memory. All that are there are
// started before the first is waited for; each is answered once the GPU has done it.
//
// Threads: one of its own, from Start until the session's end or Stop, asleep while there
//          is nothing to do. The public functions from any.
// Memory:  own arenas, peers' arenas and the host's scratch, which it opens when the worker
//          says so, until it ends. It ends only when the GPU has done what it was given.
// Errors:  go to the worker, as the command's answer. Only nonsense that cannot be
//          answered ends the session.
#ifndef REIGEN_CLIENT_C_COMMAND_THREAD_H_
#define REIGEN_CLIENT_C_COMMAND_THREAD_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "client/c/arena.h"
#include "client/c/device_arena.h"
#include "client/c/memory_map.h"
#include "client/c/peer_memory.h"
#include "client/c/result.h"
#include "client/c/session.h"
#include "client/c/task_thread.h"
#include "client/cuda/device.h"
#include "proto/local/local.h"

namespace reigen::sdk {

// A payload's way from a device arena to a block of a host arena.
struct Mirror {
  DeviceBlock from;
  Block to;
  std::unique_ptr<cuda::Device::Event> end;
};

// Whose requests are mirrored. Called by the command thread.
struct MirrorCalls {
  // Starts the copy, after the commands before.
  std::function<Result(uint64_t request, Mirror* out)> start;
  // It is done: from now on the payload is in that block.
  std::function<void(uint64_t request, Block block)> end;
};

class CommandThread {
 public:
  // `session` has begun.
  CommandThread(Session* session, MirrorCalls mirrors);
  ~CommandThread() { Stop(); }

  // Commands run on this device. ResourceExhausted: no thread is to be had.
  Result Start(const std::shared_ptr<cuda::Device>& device);
  // After Start: this trainer's own.
  void AddArena(std::shared_ptr<DeviceArena> arena);
  void Stop();

 private:
  // A command without an answer.
  struct Out {
    uint64_t id = 0;
    Result result;                             // else it was not started
    std::unique_ptr<cuda::Device::Event> end;  // null: not started
    Time started{};
    std::optional<Mirror> mirror;
    uint64_t request = 0;  // of a mirror
  };

  void Run();
  void TakeNews();
  bool TakeCommands();
  void StartOne(std::span<const local::Slot> slots);
  void Start(std::span<const local::Slot> slots, const local::CommandSlot& head, Out* out);
  bool AnswerEnded(uint32_t seen);
  bool Answer(Out& out);
  void KeepIfTouched(Out& out);
  void End();

  Session& session_;
  const MirrorCalls mirrors_;
  std::shared_ptr<cuda::Device> device_;
  std::atomic<bool> stopping_{false};

  std::mutex mutex_;  // of what follows
  MemoryMap memory_;
  std::vector<std::shared_ptr<DeviceArena>> arenas_;  // own ones

  // Of the thread.
  std::shared_ptr<PeerMemory> peers_;
  std::vector<local::Slot> taken_;
  std::deque<Out> out_;  // in order
  Time busy_since_{};    // the last start or answer

  TaskThread thread_{"reigen-command"};
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_COMMAND_THREAD_H_
