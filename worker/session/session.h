// One trainer that has attached.
#ifndef REIGEN_WORKER_SESSION_SESSION_H_
#define REIGEN_WORKER_SESSION_SESSION_H_

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "proto/local/local.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"
#include "worker/session/address_range.h"
#include "worker/session/commands.h"
#include "worker/session/device_traffic.h"
#include "worker/session/intake.h"
#include "worker/session/memory_file.h"
#include "worker/session/queues.h"
#include "worker/session/trainer_fd.h"

namespace reigen::worker {

// The shared memory of a session and what travels in it. The descriptors are watched
// by Sessions.
//
// Threads: one owner.
// Memory:  mapped until this is destroyed: not before no bucket uses it.
class Session {
 public:
  // `queues` and the first arena are mapped already.
  Session(int local, pid_t pid, TrainerFd socket, UniqueFd pidfd, UniqueFd wake,
          MemoryFile queues, MemoryFile arena);

  int local() const { return local_; }
  pid_t pid() const { return pid_; }
  int socket() const { return socket_.get(); }
  int pidfd() const { return pidfd_.get(); }
  int wake_fd() const { return wake_.get(); }

  Status SendWelcome(bool takes_device_arenas);
  Status SendEpochBegun(const local::EpochBegun& begun);
  // The file of a GrowArena.
  Status AddArena(MemoryFile arena);
  size_t arenas() const { return views_.size(); }
  bool growing() const { return growing_; }
  void set_growing(bool growing) { growing_ = growing; }

  // --- its GPU (session_device.cc)
  // Answers an AddDeviceArena. ResourceExhausted: it was refused; other errors end the
  // session.
  StatusOr<DeviceArena> AddDeviceArena(const local::AddDeviceArena& packet, TrainerFd dmabuf);
  // At once, or after answers to those before it.
  Status SendPeerArena(const local::PeerArena& arena);
  Status SendNextPeerArenas();
  Status SendHostScratch(uint64_t bytes, int fd);
  // An error: nothing of the kind was asked, or it is answered already.
  // *result: what the trainer says.
  Status TakeOpened(const local::PeerArenaOpened& packet, Status* result);
  Status TakeMapped(const local::HostScratchMapped& packet, Status* result);
  // The same of one that says that it does not use its GPU.
  Status TakeNoUse(const local::DeviceUse& packet, std::string* why) const;
  Commands& commands() { return commands_; }
  // Of an arena of host memory; null: there is no such place.
  std::byte* HostMemory(uint32_t arena, uint64_t offset, uint64_t bytes) const;

  // Takes whole requests out of the queue, appending; up to `limit` slots. True:
  // there may be more. An error ends the session.
  StatusOr<bool> TakeRequests(size_t limit, std::vector<Request>& out);
  bool HasNews() const { return queues_.HasSubmissions() || commands_.HasDone(); }
  void Complete(uint64_t request, local::ResultCode code, const std::string& text);
  // No bucket runs: payloads of requests that failed while one might are freed.
  void DropSpent() { spent_.clear(); }
  void Publish() {
    queues_.Publish();
    commands_.Publish();
  }
  void SetSleeping(bool sleeping) { queues_.SetSleeping(sleeping); }

  // No more traffic; the memory stays.
  void Close();
  bool closed() const { return !socket_.valid(); }

 private:
  struct alignas(64) InlineBuffer {
    std::array<std::byte, local::kInlineBytes> bytes{};
    uint32_t count = 0;
  };

  Status Accept(IncomingRequest& incoming, std::vector<Request>& out);

  const int local_;
  const pid_t pid_;
  TrainerFd socket_;
  UniqueFd pidfd_;
  UniqueFd wake_;
  MemoryFile queues_file_;
  std::vector<MemoryFile> arenas_;
  std::vector<AddressRange> device_ranges_;
  uint64_t device_bytes_ = 0;
  bool in_epoch_ = false;
  bool has_scratch_ = false;
  std::deque<local::PeerArena> to_open_;             // not sent yet
  std::set<std::pair<uint32_t, uint32_t>> opening_;  // (local rank, arena) of PeerArenas out
  bool mapping_ = false;                             // a HostScratch
  std::vector<ArenaView> views_;
  Queues queues_;
  Commands commands_;
  Intake intake_;
  std::vector<IncomingRequest> incoming_;
  // By request id; the payload if it came in the record, else null.
  std::unordered_map<uint64_t, std::unique_ptr<InlineBuffer>> in_flight_;
  std::vector<std::unique_ptr<InlineBuffer>> spent_;
  bool growing_ = false;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SESSION_SESSION_H_
