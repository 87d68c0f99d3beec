#include "runtime/transport/tcp/poller.h"

#include <array>
#include <string>
#include <utility>

#include "runtime/base/check.h"

namespace reigen::transport {

Poller::Watch& Poller::Watch::operator=(Watch&& other) noexcept {
  if (this == &other) return *this;
  Reset();
  poller_ = std::exchange(other.poller_, nullptr);
  fd_ = other.fd_;
  id_ = other.id_;
  return *this;
}

void Poller::Watch::Reset() {
  if (poller_ == nullptr) return;
  epoll_ctl(poller_->epoll_.get(), EPOLL_CTL_DEL, fd_, nullptr);
  poller_->handlers_.erase(id_);
  poller_ = nullptr;
}

Poller::Poller() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  REIGEN_CHECK(epoll_.valid(), "epoll_create1");
}

StatusOr<Poller::Watch> Poller::Add(int fd, uint32_t events, Handler handler) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = ++last_id_;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return ErrnoStatus(StatusCode::kResourceExhausted,
                       "epoll_ctl: descriptor " + std::to_string(fd) + " cannot be watched");
  }
  handlers_.emplace(last_id_, std::move(handler));
  return Watch(this, fd, last_id_);
}

void Poller::Dispatch() {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    // Copies: epoll_event is packed, so no reference binds to its members.
    const uint64_t id = events[static_cast<size_t>(i)].data.u64;
    const uint32_t happened = events[static_cast<size_t>(i)].events;
    const auto at = handlers_.find(id);
    if (at == handlers_.end()) continue;
    // A copy: the handler may end its own watch.
    const Handler handler = at->second;
    handler(happened);
  }
}

}  // namespace reigen::transport
