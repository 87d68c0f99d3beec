// One connection to the host's worker, from Hello to ShutdownDone.
//
//   kGreeting --Welcome--> kWaiting --EpochBegun--> kBegun
//   any of them --ShutdownDone, Refused, worker gone--> ended
//
// Threads: any. One thread of its own, the watcher, blocks on the socket with all
//          signals blocked; it takes what the worker sends and, at the end of the
//          connection, wakes everybody who waits.
// Memory:  queues and arena stay mapped until the last owner lets go.
// Errors:  after the end every wait returns the reason, which names the worker.
#ifndef REIGEN_CLIENT_C_SESSION_H_
#define REIGEN_CLIENT_C_SESSION_H_

#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "client/c/arena.h"
#include "client/c/command_queue.h"
#include "client/c/completion_queue.h"
#include "client/c/fork_guard.h"
#include "client/c/packet_socket.h"
#include "client/c/queues_file.h"
#include "client/c/result.h"
#include "client/c/submission_queue.h"
#include "proto/local/local.h"
#include "runtime/base/clock.h"
#include "runtime/base/unique_fd.h"

namespace reigen::sdk {

struct SessionOptions {
  std::string socket_path;
  int32_t rank = 0;
  double timeout_scale = 1.0;  // REIGEN_TIMEOUT_SCALE
};

// What the worker sends about memory that commands work in. Its receiver answers with
// PeerArenaOpened, HostScratchMapped.
struct HostScratchFile {
  uint64_t bytes = 0;
  UniqueFd fd;
};
using DeviceNews = std::variant<local::PeerArena, HostScratchFile>;

class Session {
 public:
  // Connects, says Hello and starts the watcher.
  static Result Open(const SessionOptions& options, std::shared_ptr<Session>* out);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Until every rank has called init. Interrupted: a signal came, call again.
  Result WaitBegun();
  // Says goodbye and waits for the worker's. Everything pending has ended then.
  void Leave();

  // After WaitBegun.
  const local::EpochBegun& place() const { return place_; }
  Arena& arena() { return arena_; }
  SubmissionQueue& submissions() { return *submissions_; }
  CompletionQueue& completions() { return *completions_; }
  // Another arena file with room for `bytes`, unless one with more than
  // `known_files` has come in the meantime.
  Result Grow(uint64_t bytes, uint32_t known_files);

  bool takes_device_arenas() const { return takes_device_arenas_; }
  CommandQueue& commands() { return *commands_; }
  // Tells the worker of memory on a GPU. `dmabuf`: a descriptor, or -1.
  Result AddDeviceArena(const local::AddDeviceArena& arena, int dmabuf, uint32_t* id);
  // Whether new payloads should be there; if not, why not.
  bool UsesDeviceArenas(std::string* why_not) const;
  // In the order they came. The command thread is interrupted for each.
  std::vector<DeviceNews> TakeNews();
  // PeerArenaOpened or HostScratchMapped.
  template <typename Answer>
  Result Send(const Answer& answer) {
    const std::lock_guard lock(send_mutex_);
    return socket_.Send(answer);
  }

  // REIGEN_TIMEOUT_SCALE times as long.
  Duration Limit(Duration unscaled) const;
  bool ended() const { return ended_.load(); }
  Result end_reason() const;
  // Gives the session up: the worker broke the protocol.
  void Break(const std::string& why);

 private:
  enum class Stage { kGreeting, kWaiting, kBegun };
  enum class Asked { kNothing, kArena, kDeviceArena };

  Session(const SessionOptions& options, PacketSocket socket);
  Result StartWatcher();
  void JoinWatcher();
  void Watch();
  Result OnPacket(ReceivedPacket& packet, bool* done);
  Result OnWelcome(ReceivedPacket& packet);
  Result OnArenaGrown(ReceivedPacket& packet);
  Result OnDeviceArenaAdded(const ReceivedPacket& packet);
  Result OnNews(DeviceNews news);
  Result OnDeviceUse(const ReceivedPacket& packet);
  template <typename Question>
  Result AskLocked(const Question& question, int fd, Asked asked);
  Result OnRefused(const ReceivedPacket& packet);
  void End(Result reason);
  void Changed();

  const double timeout_scale_;
  const Time opened_;
  PacketSocket socket_;
  std::optional<fork_guard::Watched> watched_socket_;
  pthread_t watcher_{};
  bool watching_ = false;  // until joined: by Leave, else by the destructor

  // Written by the watcher before the stage that allows their use.
  UniqueFd wake_fd_;
  std::optional<fork_guard::Watched> watched_wake_;
  std::unique_ptr<QueuesFile> queues_;
  std::optional<SubmissionQueue> submissions_;
  std::optional<CompletionQueue> completions_;
  std::optional<CommandQueue> commands_;
  bool takes_device_arenas_ = false;
  local::EpochBegun place_;
  Arena arena_;

  std::atomic<uint32_t> changes_{0};  // futex: grows with every event
  std::atomic<bool> ended_{false};
  std::mutex ask_mutex_;    // one question at a time
  std::mutex leave_mutex_;  // one Leave at a time
  std::mutex send_mutex_;

  mutable std::mutex mutex_;  // of what follows
  Stage stage_ = Stage::kGreeting;
  int32_t worker_pid_ = 0;
  bool leaving_ = false;
  Asked asked_ = Asked::kNothing;  // a question that has no answer yet
  Result answer_;
  uint32_t added_arena_ = 0;  // its id
  uint32_t arena_count_ = 0;  // of host memory and of GPUs: the next one's id
  bool device_use_ = true;
  std::string why_no_device_use_;
  std::vector<DeviceNews> news_;
  Result end_reason_;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_SESSION_H_
