// The trainers of this host that are attached.
#ifndef REIGEN_WORKER_SESSION_SESSIONS_H_
#define REIGEN_WORKER_SESSION_SESSIONS_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "proto/local/local.h"
#include "runtime/base/status.h"
#include "runtime/collective/executor.h"
#include "worker/core/request.h"
#include "worker/event_loop.h"
#include "worker/session/device_traffic.h"
#include "worker/session/listener.h"
#include "worker/session/packets.h"
#include "worker/session/session.h"
#include "worker/session/trainer_fd.h"

namespace reigen::worker {

// What becomes of the trainers. Also called from within calls to Sessions: it notes
// what happened and acts later.
class SessionHandler {
 public:
  virtual ~SessionHandler() = default;
  virtual void OnAttached(int local) = 0;
  virtual void OnRequest(int local, Request request) = 0;
  virtual void OnShutdown(int local) = 0;
  // Its process died, closed the socket without shutdown, or broke the protocol.
  virtual void OnGone(int local, pid_t pid, const std::string& reason) = 0;
};

// Accepts trainers at a socket, one session a local rank, and moves what they say.
//
//   stranger --Hello, identity right--> allocating --> attached --> released, or gone:
//                                                      then the rank is closed
//
// Identity: the uid is this process', the pid is the one that the kernel says and
// descends from the process that was started for the rank; others are refused.
//
// Threads: one owner, that of the loop.
// Memory:  a session's is unmapped by FreeRetired(), once it has ended and no bucket
//          runs. Of one that broke it stays: the coordinator may still plan what its
//          trainer had asked for, and the job ends soon.
// Errors:  whatever a trainer does ends at most its own session.
class Sessions : public DeviceTrainers {
 public:
  struct Options {
    std::vector<int> ranks;  // global, in local order
    // Whether the process is the one started for the local rank, or descends from it.
    std::function<bool(pid_t pid, int local)> belongs;
    // Closes trainers' descriptors; none: the executor.
    collective::WorkExecutor* closer = nullptr;
  };

  // All must outlive this.
  Sessions(Options options, EventLoop* loop, collective::WorkExecutor* executor,
           SessionHandler* handler);
  ~Sessions() override;

  // Device arenas are taken from now on. It outlives this.
  void TakeDevices(DeviceHandler* handler) { devices_ = handler; }

  // At `path`, in a folder that only this user can enter.
  Status Listen(const std::string& path);

  // Takes what trainers have submitted: up to a share of each; true: more is there.
  bool TakeRequests();
  // The same with answers to commands.
  void TakeDones();
  // Before a wait: tells the trainers to wake this side. True: something came
  // meanwhile; do not wait.
  bool PrepareToSleep();
  void WokenUp();

  void BeginEpoch(int local, const local::EpochBegun& begun);
  void RefuseInit(int local, const std::string& reason);
  void Complete(int local, uint64_t request, local::ResultCode code, const std::string& text);
  // Shows the trainers what has been completed since the last call.
  void Publish();
  // Answers the shutdown; the session has ended.
  void Release(int local);
  // To be called when no bucket runs.
  void FreeRetired();

  // --- sessions_device.cc
  void SendPeerArena(int local, const local::PeerArena& arena) override;
  void SendHostScratch(int local, uint64_t bytes, int fd) override;
  void SendDeviceUse(int local, bool use, const std::string& why_not) override;
  void SendCommand(int local, const local::CommandSlot& command,
                   std::vector<CommandWord> words) override;
  std::byte* HostMemory(int local, uint32_t arena, uint64_t offset, uint64_t bytes) override;
  void EndSession(int local, const std::string& reason) override;

 private:
  struct Attaching {
    pid_t pid = 0;  // 0: nobody
    TrainerFd socket;
  };

  void OnStranger(TrainerFd socket, const PeerIdentity& peer, const local::Hello& hello);
  std::string WhyRefused(const PeerIdentity& peer, const local::Hello& hello, int local) const;
  void Attach(int local);
  Status Watch(const Session& session);
  void OnSocket(int local);
  void OnPidfd(int local);
  void Handle(Session& session, TrainerPacket& packet);
  void HandleDevice(Session& session, TrainerPacket& packet);
  void AddDeviceArena(Session& session, TrainerPacket& packet);
  void BreakUnlessOk(int local, const Status& status);
  void Grow(Session& session, uint64_t bytes);
  void Drain(int local);
  std::shared_ptr<Session> TakeOut(int local, bool memory_stays);
  void Retire(int local);
  void Break(int local, const std::string& reason);
  void Allocate(const std::string& name, uint64_t bytes,
                std::function<void(StatusOr<MemoryFile>)> done);

  const Options options_;
  EventLoop* const loop_;
  collective::WorkExecutor* const executor_;
  collective::WorkExecutor* const closer_;
  SessionHandler* const handler_;
  DeviceHandler* devices_ = nullptr;
  Listener listener_;
  std::vector<std::shared_ptr<Session>> sessions_;  // per local rank; null: none
  std::vector<Attaching> attaching_;                // per local rank
  std::vector<pid_t> gone_;  // per local rank: who was lost; nobody attaches after it
  std::vector<std::shared_ptr<Session>> retired_;
  std::vector<std::shared_ptr<Session>> broken_;
  std::vector<Request> taken_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for late allocations
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SESSION_SESSIONS_H_
