#include "worker/event_loop.h"

#include <sys/epoll.h>

#include <ctime>
#include <utility>

namespace reigen::worker {

StatusOr<std::unique_ptr<EventLoop>> EventLoop::Make() {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return ErrnoStatus(StatusCode::kResourceExhausted, "epoll_create1");
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll)));
}

Status EventLoop::Add(int fd, uint32_t events, Callback callback) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return ErrnoStatus(StatusCode::kResourceExhausted, "epoll_ctl");
  }
  callbacks_[fd] = std::make_shared<Callback>(std::move(callback));
  return OkStatus();
}

void EventLoop::Remove(int fd) {
  if (callbacks_.erase(fd) > 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void EventLoop::RunOnce(std::optional<Time> until) {
  constexpr int kMaxEvents = 64;
  epoll_event events[kMaxEvents];
  timespec limit{};
  if (until.has_value()) {
    const Time now = Now();
    const auto left = std::chrono::nanoseconds(*until > now ? *until - now : Duration(0));
    limit.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
    limit.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
  }
  const int count = epoll_pwait2(epoll_.get(), events, kMaxEvents,
                                 until.has_value() ? &limit : nullptr, nullptr);
  for (int i = 0; i < count; ++i) {
    const auto it = callbacks_.find(events[i].data.fd);
    if (it == callbacks_.end()) continue;
    const std::shared_ptr<Callback> callback = it->second;  // it may remove itself
    (*callback)(events[i].events);
  }
}

}  // namespace reigen::worker
