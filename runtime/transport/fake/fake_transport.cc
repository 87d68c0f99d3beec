#include "runtime/transport/fake/fake_transport.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/transport/link_limits.h"

namespace reigen::transport {

FakeLink::FakeLink(FakeTransport* transport, const Peer& peer, Time deadline)
    : transport_(transport),
      peer_(peer.host),
      ends_(transport->host_name() + " -> " + peer.name + " (fake)"),
      deadline_(deadline),
      core_(peer.name) {}

FakeLink::~FakeLink() {
  Close();
  transport_->Remove(this);
}

Status FakeLink::PostSend(std::span<const std::byte> data, const Tag& tag, uint64_t cookie) {
  transport_->CheckRegistered(data);
  dirty_ = true;
  return core_.PostSend(data, tag, cookie);
}

Status FakeLink::PostRecv(std::span<std::byte> data, const Tag& tag, uint64_t cookie) {
  transport_->CheckRegistered(data);
  dirty_ = true;
  return core_.PostRecv(data, tag, cookie);
}

void FakeLink::Close() {
  if (pipe_ != nullptr) pipe_->CloseSide(side_);
  pipe_ = nullptr;
  if (core_.open()) dirty_ = true;
  core_.Close();
}

void FakeLink::Join(std::shared_ptr<FakePipe> pipe, int side) {
  pipe_ = std::move(pipe);
  side_ = side;
  dirty_ = true;
}

void FakeLink::Fail(const Status& why) {
  if (pipe_ != nullptr) pipe_->CloseSide(side_);
  pipe_ = nullptr;
  core_.Fail(Annotate(why, ends_));
}

void FakeLink::Progress(Time now) {
  dirty_ = false;
  if (!core_.open()) return;
  if (pipe_ == nullptr) {
    if (deadline_ <= now) Fail(DeadlineExceeded("not connected before the deadline"));
    return;
  }
  core_.Tick(now);
  Status status = pipe_->Receive(side_, core_, now);
  if (status.ok()) {
    pipe_->Send(side_, core_, now);
  } else {
    Fail(status);
  }
  core_.TakeNotices();
}

std::optional<Time> FakeLink::NextDeadline() const {
  if (dirty_ || (pipe_ != nullptr && core_.HasOutput(/*channel_zero=*/true))) return Time{};
  if (!core_.open()) return std::nullopt;
  if (pipe_ == nullptr) return deadline_;
  std::optional<Time> next = pipe_->NextEvent(side_);
  const std::optional<Time> tick = core_.NextDeadline();
  if (tick) next = next ? std::min(*next, *tick) : *tick;
  return next;
}

// Memory that CheckRegistered() accepts while this lives.
class FakeTransport::FakeRegion : public Region {
 public:
  FakeRegion(FakeTransport* transport, std::span<std::byte> memory)
      : transport_(transport), at_(transport->regions_.emplace(memory.data(), memory.size())) {}
  ~FakeRegion() override { transport_->regions_.erase(at_); }

 private:
  FakeTransport* const transport_;
  const std::multimap<const std::byte*, size_t>::iterator at_;
};

FakeTransport::FakeTransport(FakeNetwork* network, int host, const std::string& name)
    : network_(network), host_(host), name_(name) {
  REIGEN_CHECK(!network->hosts_.contains(host), "a host has one transport");
  network->hosts_[host] = this;
}

FakeTransport::~FakeTransport() {
  REIGEN_CHECK(links_.empty(), "a transport outlives its links");
  network_->hosts_.erase(host_);
}

StatusOr<std::unique_ptr<Region>> FakeTransport::Register(std::span<std::byte> memory) {
  return std::unique_ptr<Region>(std::make_unique<FakeRegion>(this, memory));
}

void FakeTransport::CheckRegistered(std::span<const std::byte> data) const {
  if (data.empty()) return;
  const bool inside = std::any_of(regions_.begin(), regions_.end(), [data](const auto& region) {
    return region.first <= data.data() &&
           data.data() + data.size() <= region.first + region.second;
  });
  REIGEN_CHECK(inside, "a posted buffer lies in a registered region");
}

std::unique_ptr<Link> FakeTransport::Connect(const Peer& peer) {
  auto link = std::make_unique<FakeLink>(
      this, peer, network_->now_ + network_->options_.connect_deadline);
  links_.push_back(link.get());
  const auto other = network_->hosts_.find(peer.host);
  if (other == network_->hosts_.end() || other->second->dead() || dead_) return link;
  for (FakeLink* theirs : other->second->links_) {
    if (theirs == link.get() || theirs->peer() != host_ || !theirs->waiting()) continue;
    auto pipe = std::make_shared<FakePipe>(network_->options_, &network_->random_);
    theirs->Join(pipe, 0);
    link->Join(pipe, 1);
    break;
  }
  return link;
}

void FakeTransport::Remove(FakeLink* link) { std::erase(links_, link); }

size_t FakeTransport::EagerBytes() const { return kEagerBytes; }

void FakeTransport::Progress(Time now) {
  network_->now_ = std::max(network_->now_, now);
  if (dead_) return;
  for (FakeLink* link : links_) link->Progress(now);
}

std::optional<Time> FakeTransport::NextDeadline() const {
  std::optional<Time> next;
  if (dead_) return next;
  for (const FakeLink* link : links_) {
    const std::optional<Time> time = link->NextDeadline();
    if (time) next = next ? std::min(*next, *time) : *time;
  }
  return next;
}

}  // namespace reigen::transport
