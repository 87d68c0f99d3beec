#include "runtime/transport/tcp/farewell.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "runtime/transport/tcp/tcp_limits.h"

namespace reigen::transport {
namespace {

// True once the peer has closed, or the socket is broken.
bool Ended(int fd) {
  std::array<char, 16384> nowhere;
  for (int i = 0; i < 64; ++i) {
    const ssize_t got = recv(fd, nowhere.data(), nowhere.size(), 0);
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) return errno != EAGAIN;
  }
  return false;
}

}  // namespace

void Farewell::Add(UniqueFd fd, Time now) {
  if (shutdown(fd.get(), SHUT_WR) != 0) return;
  Leaving& leaving = leaving_.emplace_back();
  leaving.fd = std::move(fd);
  leaving.deadline = now + kFarewellDeadline;
  auto watch = poller_.Add(leaving.fd.get(), EPOLLIN, [&leaving](uint32_t) { leaving.ready = true; });
  if (watch.ok()) {
    leaving.watch = std::move(watch).value();
  } else {
    leaving_.pop_back();
  }
}

void Farewell::Progress(Time now) {
  for (auto at = leaving_.begin(); at != leaving_.end();) {
    const bool ended = std::exchange(at->ready, false) && Ended(at->fd.get());
    at = ended || at->deadline <= now ? leaving_.erase(at) : std::next(at);
  }
}

std::optional<Time> Farewell::NextDeadline() const {
  if (leaving_.empty()) return std::nullopt;
  return leaving_.front().deadline;
}

}  // namespace reigen::transport
