// The trainers of this host, as processes: started, watched, ended.
//
// Threads: one owner, the thread that called Start(). It must never end before the
//          process does: the kernel kills the trainers when it does (PDEATHSIG).
// Order:   Reap() reports each trainer once, when its own process has ended; what
//          it leaves behind (data loaders) is a descendant of this process, which
//          is a subreaper, and is ended by TerminateAll and KillAll.
// Errors:  what a host lacks (program, folder, processes) is a Status that says so
//          and how to set it.
#ifndef REIGEN_WORKER_SPAWN_TRAINERS_H_
#define REIGEN_WORKER_SPAWN_TRAINERS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/launch/launch.pb.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"

namespace reigen::worker {

// One trainer has ended.
struct TrainerEnd {
  int rank = 0;
  pid_t pid = 0;
  int code = 0;    // exit code, or 128 + signal
  int signal = 0;  // 0 if it exited
  std::string detail;  // "process 123: exit 7"
};

class Trainers {
 public:
  // Starts one process per rank of `start.host()`. Takes this process' copies of
  // the descriptors StdoutFd(i), StderrFd(i) and closes them. All or none: on an
  // error none is left.
  static StatusOr<std::unique_ptr<Trainers>> Start(const launch::GuardStart& start,
                                                   const std::string& socket_path);

  int count() const { return static_cast<int>(trainers_.size()); }
  int rank(int local_rank) const { return trainers_[local_rank].rank; }
  pid_t pid(int local_rank) const { return trainers_[local_rank].pid; }
  bool running(int local_rank) const { return trainers_[local_rank].running; }
  // Readable (for epoll) when the process has ended.
  int pidfd(int local_rank) const { return trainers_[local_rank].pidfd.get(); }

  // Collects whatever has ended; the trainers among it are returned, the adopted
  // grandchildren forgotten. Never blocks. Call when a pidfd is readable, and now
  // and then.
  std::vector<TrainerEnd> Reap();

  // Whether `pid` is the trainer of `rank` or descends from it.
  bool Descends(pid_t pid, int rank) const;
  // The rank whose trainer `pid` is or descends from.
  std::optional<int> RankOf(pid_t pid) const;

  // Sends the signal to every process below this one, grandchildren included.
  // A tree that forks meanwhile is caught by calling again: repeat KillAll (with
  // Reap) until AnyLeft() is false.
  void TerminateAll() const;
  void KillAll() const;
  bool AnyLeft() const;

 private:
  struct Trainer {
    int rank = 0;
    pid_t pid = 0;
    bool running = true;
    UniqueFd pidfd;
  };

  Trainers() = default;

  std::vector<Trainer> trainers_;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SPAWN_TRAINERS_H_
