#include "runtime/transport/tcp/dialer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/hmac.h"
#include "runtime/base/log.h"
#include "runtime/transport/tcp/address.h"
#include "runtime/transport/tcp/socket.h"

namespace reigen::transport {
namespace {

// The interface in a link-local address is this host's, not the peer's.
std::string WithScope(const std::string& endpoint, const std::string& scope) {
  const size_t percent = endpoint.find('%');
  const size_t end = endpoint.find(']');
  if (percent == std::string::npos || end == std::string::npos || scope.empty()) return endpoint;
  return endpoint.substr(0, percent + 1) + scope + endpoint.substr(end);
}

}  // namespace

Dialer::Dialer(Poller* poller, const Options& options, const Peer& peer)
    : poller_(*poller), options_(options), peer_(peer) {
  for (const std::string& address : peer.addresses) {
    if (!HasScheme(address, options.scheme)) continue;
    addresses_.push_back(WithScope(address, options.scope));
  }
}

std::optional<std::vector<UniqueFd>> Dialer::Progress(Time now) {
  if (addresses_.empty() || now < retry_at_) return std::nullopt;
  // Addresses that refuse at once are passed over at once, each once a round.
  for (size_t tried = 0; tried < addresses_.size() && now >= retry_at_; ++tried) {
    const Status status = Advance(now);
    if (status.ok()) break;
    GiveUp(status, now);
  }
  const bool whole = attempts_.size() == static_cast<size_t>(options_.channels);
  if (!whole || !std::all_of(attempts_.begin(), attempts_.end(), [](const Attempt& attempt) {
        return attempt.handshake->welcome();
      })) {
    return std::nullopt;
  }
  std::vector<UniqueFd> sockets;
  for (Attempt& attempt : attempts_) {
    attempt.watch.Reset();
    sockets.push_back(attempt.greeting->TakeFd());
  }
  attempts_.clear();
  return sockets;
}

Status Dialer::Advance(Time now) {
  if (attempts_.empty()) {
    const std::string random = RandomBytes(sizeof session_);
    std::memcpy(&session_, random.data(), sizeof session_);
    attempt_deadline_ = now + kAttemptDeadline;
    REIGEN_RETURN_IF_ERROR(Begin(0));
  }
  for (Attempt& attempt : attempts_) {
    if (!std::exchange(attempt.ready, false)) continue;
    if (!attempt.connected) {
      const int error = SocketError(attempt.greeting->fd());
      if (error != 0) return ErrnoStatus(StatusCode::kUnavailable, "connect", error);
      attempt.connected = true;
    }
    REIGEN_RETURN_IF_ERROR(attempt.greeting->Advance());
  }
  if (attempts_.size() == 1 && AllAuthentic()) {
    for (int channel = 1; channel < options_.channels; ++channel) {
      REIGEN_RETURN_IF_ERROR(Begin(static_cast<uint16_t>(channel)));
    }
  }
  if (now >= attempt_deadline_ && !AllAuthentic()) return DeadlineExceeded("no answer");
  return OkStatus();
}

Status Dialer::Begin(uint16_t channel) {
  REIGEN_ASSIGN_OR_RETURN(const SocketAddress address, ParseEndpoint(addresses_[at_], options_.scheme));
  REIGEN_ASSIGN_OR_RETURN(UniqueFd fd, StartConnect(address));
  Hello hello;
  hello.from = static_cast<uint32_t>(options_.identity.host);
  hello.to = static_cast<uint32_t>(peer_.host);
  hello.channel = channel;
  hello.channels = static_cast<uint16_t>(options_.channels);
  hello.session = session_;
  auto handshake = std::make_unique<DialHandshake>(options_.identity, hello);

  Attempt& attempt = attempts_.emplace_back();
  attempt.handshake = handshake.get();
  const int number = fd.get();
  attempt.greeting = std::make_unique<Greeting>(std::move(fd), std::move(handshake));
  REIGEN_ASSIGN_OR_RETURN(attempt.watch,
                          poller_.Add(number, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                      [&attempt](uint32_t) { attempt.ready = true; }));
  return OkStatus();
}

void Dialer::GiveUp(const Status& why, Time now) {
  attempts_.clear();
  std::string& last = failures_[addresses_[at_]];
  if (last != Message(why)) {
    REIGEN_INFO("{} does not answer at {}: {}", peer_.name, addresses_[at_], Message(why));
  }
  last = Message(why);
  at_ = (at_ + 1) % addresses_.size();
  if (at_ != 0) return;
  retry_at_ = now + pause_;
  pause_ = std::min(2 * pause_, kRedialLast);
}

bool Dialer::AllAuthentic() const {
  return std::all_of(attempts_.begin(), attempts_.end(),
                     [](const Attempt& attempt) { return attempt.handshake->authentic(); });
}

std::optional<Time> Dialer::NextDeadline() const {
  if (addresses_.empty()) return std::nullopt;
  if (attempts_.empty()) return retry_at_;
  for (const Attempt& attempt : attempts_) {
    if (attempt.ready) return Time{};
  }
  if (AllAuthentic()) return std::nullopt;
  return attempt_deadline_;
}

std::string Dialer::Failures() const {
  std::string text;
  for (const auto& [address, why] : failures_) {
    text += (text.empty() ? "" : "; ") + address + ": " + why;
  }
  return text.empty() ? "no address of it is known" : text;
}

}  // namespace reigen::transport
