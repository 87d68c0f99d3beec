// A descriptor that a trainer chose, or a socket that it may have put some into.
#ifndef REIGEN_WORKER_SESSION_TRAINER_FD_H_
#define REIGEN_WORKER_SESSION_TRAINER_FD_H_

#include <sys/socket.h>

#include <utility>

#include "runtime/base/unique_fd.h"
#include "runtime/collective/executor.h"

namespace reigen::worker {

// The executor (closer.h) closes it: a close can block, of a socket that lingers as of a
// file on the trainer's FUSE mount, and what nobody has taken out of a socket is closed
// with it.
//
// Threads: one owner, that of the executor, which outlives it.
class TrainerFd {
 public:
  TrainerFd() = default;
  TrainerFd(UniqueFd fd, collective::WorkExecutor* executor)
      : fd_(std::move(fd)), executor_(executor) {}
  TrainerFd(TrainerFd&& other) noexcept = default;
  TrainerFd& operator=(TrainerFd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = std::move(other.fd_);
      executor_ = other.executor_;
    }
    return *this;
  }
  ~TrainerFd() { Reset(); }

  int get() const { return fd_.get(); }
  bool valid() const { return fd_.valid(); }
  void Reset() {
    if (!fd_.valid()) return;
    executor_->Submit([fd = fd_.Release()] { UniqueFd closed(fd); }, [] {});
  }
  // Of a socket between processes: the other side sees the end at once.
  void HangUp() {
    if (fd_.valid()) (void)::shutdown(fd_.get(), SHUT_RDWR);
    Reset();
  }

 private:
  UniqueFd fd_;
  collective::WorkExecutor* executor_ = nullptr;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SESSION_TRAINER_FD_H_
