// The GPU of a scripted trainer: memory that other processes can open, and commands done
// on it by the CPU's kernels.
#ifndef REIGEN_WORKER_SESSION_SCRIPTED_GPU_H_
#define REIGEN_WORKER_SESSION_SCRIPTED_GPU_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "proto/local/local.h"
#include "runtime/base/unique_fd.h"
#include "worker/session/scripted_trainer.h"

namespace reigen::worker {

// Threads: one owner, that of the trainer; Serve() is to be called while it waits.
class ScriptedGpu {
 public:
  struct Behaviour {
    bool opens_peers = true;
    bool maps_scratch = true;
    std::string why_no_dmabuf = "a scripted GPU";
    // Called before a command is done; false: it is not done, now or later.
    std::function<bool()> on_command;
    uint64_t id_error = 0;  // of answers
  };

  ScriptedGpu(ScriptedTrainer* trainer, Behaviour behaviour);
  ~ScriptedGpu();

  // The id; nothing: something else came than the answer.
  std::optional<uint32_t> AddArena(uint64_t bytes, local::DeviceArenaKind kind);
  std::byte* memory(uint32_t arena) { return own_.at(arena).data(); }

  // One float tensor at the beginning of the arena; remembered for mirrors.
  uint64_t Allreduce(uint32_t name, uint32_t arena, uint64_t count);
  // Where the request's result is: on the GPU, or, once mirrored, in the host arena.
  const float* Result(uint64_t request);

  // Answers what has come.
  void Serve();

  int commands() const { return commands_; }
  int mirrored() const { return static_cast<int>(mirrors_.size()); }
  const std::string& not_used() const { return not_used_; }

 private:
  struct Payload {
    uint32_t arena = 0;
    uint64_t bytes = 0;
  };

  bool OnPacket(local::PacketKind kind, std::vector<UniqueFd>& fds);
  void OpenPeer(const local::PeerArena& packet);
  void MapScratch(const local::HostScratch& packet, const UniqueFd& fd);
  bool DoNext();
  void Execute(const local::CommandSlot& slot, std::span<const local::MemoryPlace> words);
  std::byte* At(const local::MemoryPlace& place);
  void Mirror(uint64_t request, local::DoneSlot& done);
  void Answer(const local::DoneSlot& done);

  ScriptedTrainer& trainer_;
  const Behaviour behaviour_;
  std::vector<UniqueFd> fds_;
  std::map<uint32_t, std::span<std::byte>> own_;
  std::map<std::pair<uint32_t, uint32_t>, std::span<std::byte>> peers_;  // (rank, arena)
  std::span<std::byte> scratch_;
  std::map<uint64_t, Payload> payloads_;
  std::map<uint64_t, uint64_t> mirrors_;  // request -> offset in the host arena
  uint64_t mirror_end_ = 0;
  int commands_ = 0;
  bool stopped_ = false;
  std::string not_used_;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SESSION_SCRIPTED_GPU_H_
