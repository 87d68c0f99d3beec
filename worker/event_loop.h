// The worker's one place to wait.
#ifndef REIGEN_WORKER_EVENT_LOOP_H_
#define REIGEN_WORKER_EVENT_LOOP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"

namespace reigen::worker {

// epoll with a callback per descriptor.
//
// Threads: one owner.
// Order:   callbacks may add and remove descriptors, also their own. One that was
//          removed is not called any more; one whose number was used again in the
//          same turn may be called without cause.
class EventLoop {
 public:
  using Callback = std::function<void(uint32_t events)>;

  static StatusOr<std::unique_ptr<EventLoop>> Make();

  // `events` as EPOLLIN, level-triggered unless EPOLLET is among them. The caller keeps the descriptor.
  Status Add(int fd, uint32_t events, Callback callback);
  void Remove(int fd);

  // Waits until something is ready or `until` has passed (none: as long as it
  // takes), then calls the callbacks of what is ready. Interrupted: returns.
  void RunOnce(std::optional<Time> until);

 private:
  explicit EventLoop(UniqueFd epoll) : epoll_(std::move(epoll)) {}

  UniqueFd epoll_;
  std::unordered_map<int, std::shared_ptr<Callback>> callbacks_;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_EVENT_LOOP_H_
