#include "runtime/transport/tcp/tcp_link.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/transport/tcp/address.h"
#include "runtime/transport/tcp/socket.h"
#include "runtime/transport/tcp/tcp_limits.h"

namespace reigen::transport {

TcpLink::TcpLink(TcpContext* context, const Peer& peer)
    : context_(*context), peer_(peer), core_(peer.name) {
  REIGEN_CHECK(peer.host != context_.options.host, "a link leads to another host");
  if (context_.options.host < peer.host) {
    const Dialer::Options options = {context_.identity, kScheme, context_.options.channels,
                                     context_.scope};
    dialer_ = std::make_unique<Dialer>(&context_.poller, options, peer);
  }
  context_.links.push_back(this);
}

TcpLink::~TcpLink() {
  Close();
  std::erase(context_.links, this);
}

Status TcpLink::PostSend(std::span<const std::byte> data, const Tag& tag, uint64_t cookie) {
  const Status status = core_.PostSend(data, tag, cookie);
  Posted();
  return status;
}

Status TcpLink::PostRecv(std::span<std::byte> data, const Tag& tag, uint64_t cookie) {
  const Status status = core_.PostRecv(data, tag, cookie);
  Posted();
  return status;
}

void TcpLink::Posted() {
  const bool output = !channels_.empty() && core_.HasOutput(/*channel_zero=*/true);
  posted_ = posted_ || output || core_.has_completions();
}

void TcpLink::Close() {
  for (auto& channel : channels_) {
    const bool clean = !channel->writing();
    UniqueFd fd = channel->TakeFd();
    if (clean) context_.farewell.Add(std::move(fd), context_.now);
  }
  channels_.clear();
  dialer_.reset();
  core_.Close();
  posted_ = posted_ || core_.has_completions();
}

void TcpLink::Progress(Time now) {
  posted_ = false;
  if (!core_.open()) return;
  if (channels_.empty()) Connecting(now);
  if (!channels_.empty()) Move(now);
  for (const std::string& notice : core_.TakeNotices()) REIGEN_WARN("{}", notice);
}

void TcpLink::Connecting(Time now) {
  if (!connect_deadline_) connect_deadline_ = now + context_.options.connect_deadline;
  std::optional<std::vector<UniqueFd>> sockets =
      dialer_ != nullptr ? dialer_->Progress(now) : context_.reception.Take(peer_.host);
  if (sockets) {
    Open(std::move(*sockets));
  } else if (now >= *connect_deadline_) {
    const double waited_s = ToSeconds(context_.options.connect_deadline);
    Fail(DeadlineExceeded(context_.options.name + " -> " + peer_.name + " (tcp): not connected in " +
                          std::to_string(static_cast<int>(waited_s)) + " s: " +
                          (dialer_ != nullptr ? dialer_->Failures() : "it has not called")));
  }
}

void TcpLink::Open(std::vector<UniqueFd> sockets) {
  dialer_.reset();
  for (UniqueFd& fd : sockets) {
    names_.push_back(context_.options.name + " (" + LocalName(fd.get()) + ") -> " + peer_.name +
                     " (" + PeerName(fd.get()) + ")");
    const Status tuned = Tune(fd.get(), context_.options.path_timeout);
    channels_.push_back(std::make_unique<Channel>(std::move(fd), channels_.empty(),
                                                  context_.options.path_timeout));
    const Status watched = channels_.back()->Watch(context_.poller);
    for (const Status& status : {tuned, watched}) {
      if (!status.ok()) return FailChannel(channels_.size() - 1, status);
    }
  }
  REIGEN_INFO("link over tcp, {} sockets: {}", channels_.size(), names_.front());
}

void TcpLink::Move(Time now) {
  core_.Tick(now);
  for (size_t i = 0; i < channels_.size(); ++i) {
    const Status status = channels_[i]->Read(core_);
    if (!status.ok()) return FailChannel(i, status);
  }
  for (size_t i = 0; i < channels_.size(); ++i) {
    const Status status = channels_[i]->Write(core_);
    if (!status.ok()) return FailChannel(i, status);
  }
  LookForEnd(now);
}

// The link ends once the peer has closed all channels: until then the others may
// still carry what it sent before.
void TcpLink::LookForEnd(Time now) {
  size_t ended = 0;
  for (const auto& channel : channels_) ended += channel->ended() ? 1 : 0;
  if (ended == 0) return;
  if (!close_deadline_) close_deadline_ = now + kCloseTogether;
  if (ended == channels_.size() || now >= *close_deadline_) {
    // With nothing under way it is how a job ends; if the peer was lost, the
    // coordinator tells.
    Fail(AtChannel(0, Unavailable("closed by " + peer_.name)), /*expected=*/core_.idle());
  }
}

Status TcpLink::AtChannel(size_t channel, const Status& why) const {
  return Annotate(why, names_[channel] + ", socket " + std::to_string(channel) + " (tcp)");
}

void TcpLink::FailChannel(size_t channel, const Status& why) { Fail(AtChannel(channel, why)); }

void TcpLink::Fail(const Status& why, bool expected) {
  channels_.clear();
  dialer_.reset();
  core_.Fail(why);
  if (expected) {
    REIGEN_INFO("link closed: {}", Message(why));
  } else {
    REIGEN_WARN("link lost: {}", Message(why));
  }
}

std::optional<Time> TcpLink::NextDeadline() const {
  if (posted_) return Time{};
  if (!core_.open()) return std::nullopt;
  if (channels_.empty()) {
    if (!connect_deadline_) return Time{};
    const std::optional<Time> dial = dialer_ != nullptr ? dialer_->NextDeadline() : std::nullopt;
    return dial ? std::min(*dial, *connect_deadline_) : *connect_deadline_;
  }
  for (const auto& channel : channels_) {
    if (channel->unfinished(core_)) return Time{};
  }
  std::optional<Time> next = core_.NextDeadline();
  if (close_deadline_) next = next ? std::min(*next, *close_deadline_) : *close_deadline_;
  return next;
}

}  // namespace reigen::transport
