#include "runtime/transport/rdma/connector.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/transport/rdma/rdma_limits.h"
#include "runtime/transport/tcp/socket.h"

namespace reigen::transport::rdma {

Connector::Connector(RdmaContext* context, const Peer& peer) : context_(*context), peer_(peer) {
  if (context_.options.host > peer.host) return;
  const Dialer::Options options = {context_.identity, kScheme, /*channels=*/1, context_.scope};
  dialer_ = std::make_unique<Dialer>(&context_.poller, options, peer);
}

StatusOr<bool> Connector::Progress(Time now) {
  if (!began_) began_ = now;
  if (state_ == State::kCalling) REIGEN_RETURN_IF_ERROR(Call(now));
  if (state_ == State::kOpening) REIGEN_RETURN_IF_ERROR(Open(now));
  while (side_ != nullptr && state_ != State::kDone) {
    REIGEN_ASSIGN_OR_RETURN(const auto message, side_->Receive());
    if (!message) break;
    const Status status = OnMessage(*message);
    if (!status.ok()) return TellPeer(status);
  }
  if (state_ == State::kDone) return true;
  if (now >= *began_ + patience()) return TellPeer(TooLate());
  return false;
}

// Whether it arrives is not waited for: the end of the connection says enough.
Status Connector::TellPeer(const Status& why) {
  if (socket_.get() >= 0) side_ = std::make_unique<SideChannel>(std::move(socket_));
  if (side_ == nullptr) return why;
  (void)side_->Send(Bye{Message(why)});
  context_.farewell.Add(side_->TakeFd(), context_.now);
  side_.reset();
  return why;
}

Status Connector::Call(Time now) {
  std::optional<std::vector<UniqueFd>> sockets =
      dialer_ != nullptr ? dialer_->Progress(now) : context_.reception.Take(peer_.host);
  if (!sockets) return OkStatus();
  if (sockets->size() != 1) {
    return InvalidArgument("it called with " + std::to_string(sockets->size()) +
                           " sockets, a side channel is one");
  }
  socket_ = std::move(sockets->front());
  state_ = State::kOpening;
  return OkStatus();
}

Status Connector::Open(Time now) {
  if (now < retry_at_) return OkStatus();
  const size_t usable = Refresh(now);
  const Time all_until = *began_ + context_.options.connect_deadline / 6;
  if (usable < context_.rails.size() && (usable == 0 || now < all_until)) {
    retry_at_ = context_.ports_read_at + kRefreshEvery;
    return OkStatus();
  }
  side_ = std::make_unique<SideChannel>(std::move(socket_));
  REIGEN_RETURN_IF_ERROR(Tune(side_->fd(), 2 * context_.options.retry_budget));
  REIGEN_RETURN_IF_ERROR(side_->Watch(context_.poller));
  state_ = State::kOffered;
  return side_->Send(offer_);
}

// How many ports can be used now: sets the offer.
size_t Connector::Refresh(Time now) {
  const auto is_ok = [](const Status& status) { return status.ok(); };
  if (std::all_of(context_.ports.begin(), context_.ports.end(), is_ok) ||
      now >= context_.ports_read_at + kRefreshEvery) {
    context_.ports.clear();
    for (const auto& rail : context_.rails) {
      context_.ports.push_back(rail->Refresh(context_.options.wish));
    }
    context_.ports_read_at = now;
  }
  size_t usable = 0;
  offer_.rails.clear();
  for (size_t i = 0; i < context_.rails.size(); ++i) {
    const Status& status = context_.ports[i];
    offer_.rails.push_back(context_.rails[i]->address());
    offer_.rails.back().max_queues = status.ok() ? context_.room.max_queues[i] : uint8_t{0};
    if (status.ok()) {
      ++usable;
      continue;
    }
    if (not_usable_.ok()) REIGEN_WARN("rdma: a link to {} has to wait: {}", peer_.name, Message(status));
    not_usable_ = status;
  }
  offer_.left_out = context_.left_out;
  offer_.spare = context_.spare;
  for (std::vector<PortName>* ports : {&offer_.left_out, &offer_.spare}) {
    if (ports->size() > kMaxLeftOut) ports->resize(kMaxLeftOut);
  }
  offer_.channels =
      static_cast<uint16_t>(std::min(context_.options.channels, context_.room.max_channels));
  return usable;
}

Status Connector::OnMessage(const SetupMessage& message) {
  if (const Offer* offer = std::get_if<Offer>(&message); offer && state_ == State::kOffered) {
    return OnOffer(*offer);
  }
  if (const Queues* queues = std::get_if<Queues>(&message); queues && state_ == State::kMade) {
    return OnQueues(*queues);
  }
  if (std::holds_alternative<Ready>(message) && state_ == State::kConnected) {
    state_ = State::kDone;
    return OkStatus();
  }
  return InvalidArgument("a set-up message out of turn");
}

Status Connector::OnOffer(const Offer& offer) {
  REIGEN_ASSIGN_OR_RETURN(queues_, QueueSet::Make(context_, offer_, offer));
  state_ = State::kMade;
  return side_->Send(queues_->addresses());
}

Status Connector::OnQueues(const Queues& queues) {
  REIGEN_RETURN_IF_ERROR(queues_->Connect(queues, context_.options.name, peer_.name));
  state_ = State::kConnected;
  return side_->Send(Ready());
}

Status Connector::TooLate() const {
  std::string why = "it does not go on with the set-up";
  if (state_ == State::kCalling) {
    why = dialer_ != nullptr ? dialer_->Failures() : "it has not called";
  } else if (state_ == State::kOpening) {
    why = Message(not_usable_);
  }
  return DeadlineExceeded("not connected in " +
                          std::to_string(static_cast<int>(ToSeconds(patience()))) + " s: " + why);
}

Duration Connector::patience() const {
  return context_.options.connect_deadline * (state_ == State::kOpening ? 5 : 6) / 6;
}

std::optional<Time> Connector::NextDeadline() const {
  if (!began_ || (side_ != nullptr && side_->readable())) return Time{};
  const Time deadline = *began_ + patience();
  if (state_ == State::kOpening) return std::min(retry_at_, deadline);
  if (state_ != State::kCalling || dialer_ == nullptr) return deadline;
  return std::min(dialer_->NextDeadline().value_or(deadline), deadline);
}

}  // namespace reigen::transport::rdma
