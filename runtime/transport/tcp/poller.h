// One epoll instance and what is to be told of its events.
#ifndef REIGEN_RUNTIME_TRANSPORT_TCP_POLLER_H_
#define REIGEN_RUNTIME_TRANSPORT_TCP_POLLER_H_

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"

namespace reigen::transport {

// Threads: one owner.
// Order:   a Watch may go, and others may come, within a call to a handler; a
//          handler whose Watch is gone is not called.
class Poller {
 public:
  using Handler = std::function<void(uint32_t events)>;

  // Keeps a file descriptor watched; must go before the descriptor is closed.
  class Watch {
   public:
    Watch() = default;
    Watch(Poller* poller, int fd, uint64_t id) : poller_(poller), fd_(fd), id_(id) {}
    Watch(Watch&& other) noexcept { *this = std::move(other); }
    Watch& operator=(Watch&& other) noexcept;
    ~Watch() { Reset(); }
    void Reset();

   private:
    Poller* poller_ = nullptr;
    int fd_ = -1;
    uint64_t id_ = 0;
  };

  Poller();

  StatusOr<Watch> Add(int fd, uint32_t events, Handler handler);

  // Calls the handlers of what has happened. Never blocks.
  void Dispatch();

  int fd() const { return epoll_.get(); }

 private:
  UniqueFd epoll_;
  uint64_t last_id_ = 0;
  std::unordered_map<uint64_t, Handler> handlers_;
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_TCP_POLLER_H_
