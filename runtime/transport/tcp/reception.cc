#include "runtime/transport/tcp/reception.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/transport/tcp/tcp_limits.h"

namespace reigen::transport {

Status Reception::Open(const std::string& scheme, const std::string& address,
                       const PortRange& ports) {
  REIGEN_ASSIGN_OR_RETURN(const SocketAddress where, ParseAddress(address));
  Listener listener;
  REIGEN_ASSIGN_OR_RETURN(listener.fd, Listen(where, ports));
  listener.endpoint = scheme + ":" + LocalName(listener.fd.get());
  listeners_.push_back(std::move(listener));
  return WatchListener(listeners_.back());
}

Status Reception::WatchListener(Listener& listener) {
  REIGEN_ASSIGN_OR_RETURN(listener.watch, poller_.Add(listener.fd.get(), EPOLLIN,
                                                      [this](uint32_t) { calls_ = true; }));
  return OkStatus();
}

std::vector<std::string> Reception::endpoints() const {
  std::vector<std::string> endpoints;
  for (const Listener& listener : listeners_) endpoints.push_back(listener.endpoint);
  return endpoints;
}

void Reception::Progress(Time now) {
  if (paused_until_ && *paused_until_ <= now) {
    paused_until_.reset();
    for (Listener& listener : listeners_) {
      const Status watched = WatchListener(listener);
      if (!watched.ok()) paused_until_ = now + kAcceptPause;
    }
  }
  if (std::exchange(calls_, false) && !paused_until_) {
    for (Listener& listener : listeners_) Accept(listener, now);
  }
  for (auto at = callers_.begin(); at != callers_.end();) {
    Status status;
    if (std::exchange(at->ready, false)) status = at->greeting->Advance();
    if (status.ok() && at->handshake->authentic()) {
      Park(*at);
    } else if (status.ok() && at->deadline > now) {
      ++at;
      continue;
    } else {
      if (status.ok()) status = DeadlineExceeded("it did not prove itself in time");
      LogDropped(Message(status), at->name, now);
    }
    at = callers_.erase(at);
  }
}

void Reception::Accept(Listener& listener, Time now) {
  for (size_t i = 0; i < kMaxGreetings; ++i) {
    UniqueFd fd(accept4(listener.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.valid()) {
      AddCaller(std::move(fd), now);
      continue;
    }
    const int error = errno;
    if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
      REIGEN_WARN("cannot accept links for now: {}", std::strerror(error));
      for (Listener& each : listeners_) each.watch.Reset();
      paused_until_ = now + kAcceptPause;
    }
    // What else accept() says is about a call that has gone already.
    if (error != ECONNABORTED && error != EINTR) return;
  }
}

void Reception::AddCaller(UniqueFd fd, Time now) {
  if (callers_.size() == kMaxGreetings) {
    LogDropped("too many at once", callers_.front().name, now);
    callers_.pop_front();
  }
  Caller& caller = callers_.emplace_back();
  caller.name = PeerName(fd.get());
  caller.deadline = now + kGreetingDeadline;
  auto handshake = std::make_unique<AcceptHandshake>(identity_);
  caller.handshake = handshake.get();
  auto watch = poller_.Add(fd.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                           [&caller](uint32_t) { caller.ready = true; });
  caller.greeting = std::make_unique<Greeting>(std::move(fd), std::move(handshake));
  if (watch.ok()) {
    caller.watch = std::move(watch).value();
  } else {
    LogDropped(Message(watch.status()), caller.name, now);
    callers_.pop_back();
  }
}

void Reception::LogDropped(const std::string& why, const std::string& name, Time now) {
  if (now - log_second_ >= seconds(1)) {
    if (unwritten_ > 0) REIGEN_WARN("dropped {} more callers", unwritten_);
    log_second_ = now;
    lines_ = unwritten_ = 0;
  }
  if (lines_ == kDropLinesPerSecond) {
    ++unwritten_;
    return;
  }
  ++lines_;
  REIGEN_WARN("dropped a caller: {} peer={}", why, name);
}

void Reception::Park(Caller& caller) {
  const Hello& hello = caller.handshake->hello();
  Session& session = parked_[static_cast<int>(hello.from)];
  if (session.id != hello.session || session.channels.size() != hello.channels) {
    session = Session();
    session.id = hello.session;
    session.channels.resize(hello.channels);
  }
  UniqueFd& place = session.channels[hello.channel];
  if (!place.valid()) ++session.present;
  caller.watch.Reset();
  place = caller.greeting->TakeFd();
}

std::optional<std::vector<UniqueFd>> Reception::Take(int host) {
  const auto at = parked_.find(host);
  if (at == parked_.end() || at->second.present < at->second.channels.size()) return std::nullopt;
  std::vector<UniqueFd> channels = std::move(at->second.channels);
  parked_.erase(at);
  const std::string welcome = AcceptHandshake::Welcome();
  for (const UniqueFd& fd : channels) {
    // So few bytes always fit into the buffer of a socket that has sent hardly any.
    const ssize_t sent = send(fd.get(), welcome.data(), welcome.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(welcome.size())) return std::nullopt;  // it dials again
  }
  return channels;
}

std::optional<Time> Reception::NextDeadline() const {
  std::optional<Time> next = paused_until_;
  for (const Caller& caller : callers_) {
    const Time time = caller.ready ? Time{} : caller.deadline;
    next = next ? std::min(*next, time) : time;
  }
  return next;
}

}  // namespace reigen::transport
