// A queue that many threads fill and one empties; its file descriptor becomes
// readable when there is something to take, so that it fits into an epoll loop.
//
// Threads: Push from any thread; Drain and fd() from the owner.
// Errors:  none; the queue is unbounded: senders bound what they have in flight.
#ifndef REIGEN_RUNTIME_BASE_MAILBOX_H_
#define REIGEN_RUNTIME_BASE_MAILBOX_H_

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/unique_fd.h"

namespace reigen {

template <typename T>
class Mailbox {
 public:
  Mailbox() : event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    REIGEN_CHECK(event_.valid(), "eventfd");
  }

  void Push(T item) {
    bool wake;
    {
      std::lock_guard lock(mutex_);
      wake = items_.empty();
      items_.push_back(std::move(item));
    }
    if (wake) {
      const uint64_t one = 1;
      (void)!write(event_.get(), &one, sizeof one);
    }
  }

  // Everything pushed so far, oldest first. Never blocks.
  std::vector<T> Drain() {
    uint64_t count;
    (void)!read(event_.get(), &count, sizeof count);
    std::lock_guard lock(mutex_);
    return std::exchange(items_, {});
  }

  int fd() const { return event_.get(); }

 private:
  UniqueFd event_;
  std::mutex mutex_;
  std::vector<T> items_;
};

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_MAILBOX_H_
