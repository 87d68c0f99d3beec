// The sender's half of LinkCore.
#include "runtime/transport/link_core.h"
#include "runtime/transport/link_limits.h"

namespace reigen::transport {

Status LinkCore::PostSend(std::span<const std::byte> data, const Tag& tag, uint64_t cookie,
                          Owner owner) {
  if (posted_sends_ == kMaxPosts) return ResourceExhausted("the link's send queue is full");
  if (open() && sends_.contains(tag)) return InvalidArgument("sent twice: " + ToString(tag));
  ++posted_sends_;
  if (!open()) {
    Complete(cookie, ended_, /*send=*/true);
    return OkStatus();
  }
  const auto at = sends_.emplace(tag, Send()).first;
  Send& send = at->second;
  send.data = data;
  send.cookie = cookie;
  send.owner = data.empty() ? Owner::kHost : owner;
  ++waiting_;

  const auto credit = credits_.find(tag);
  if (credit != credits_.end()) {
    const Credit granted = credit->second;
    credits_.erase(credit);
    Grant(at, granted);
  } else if (data.size() <= kEagerBytes) {
    if (send.owner == Owner::kHost && slots_out_.Take(tag.collective.stream)) {
      SetWaiting(send, SendState::kQueued);
      Control(FrameKind::kEager, tag, data.size(), /*pinned=*/false);
    } else {
      Ask(tag, send);
    }
  }
  return OkStatus();
}

Status LinkCore::OnCredit(const Frame& frame, const Place& place) {
  const auto at = sends_.find(frame.tag);
  if (at == sends_.end()) {
    if (credits_.size() == kMaxPosts) {
      return InvalidArgument("more than " + std::to_string(kMaxPosts) + " credits open");
    }
    if (!credits_.emplace(frame.tag, Credit{frame.length, place}).second) {
      return InvalidArgument("a second credit for " + ToString(frame.tag));
    }
    return OkStatus();
  }
  Send& send = at->second;
  if (send.state == SendState::kQueued || send.state == SendState::kWriting) {
    if (frame.length == send.data.size()) {
      return InvalidArgument("a credit for what is being sent: " + ToString(frame.tag));
    }
    // Crossed with an eager message of another length: the peer will see it too.
    send.result = OpResult::kPlanMismatch;
    return OkStatus();
  }
  Grant(at, {frame.length, place});
  return OkStatus();
}

void LinkCore::Grant(Sends::iterator at, const Credit& credit) {
  const Tag& tag = at->first;
  Send& send = at->second;
  if (credit.length != send.data.size()) {
    Notice(tag, send.data.size(), credit.length, /*sender=*/true);
    Control(FrameKind::kSendMismatch, tag, send.data.size(), send.pinned);
    FinishSend(at, OpResult::kPlanMismatch);
    return;
  }
  SetWaiting(send, SendState::kQueued);
  send.place = credit.place;
  Frame frame;
  frame.kind = FrameKind::kData;
  frame.length = credit.length;
  frame.tag = tag;
  (send.pinned ? pinned_bulk_ : bulk_).push_back(frame);
}

Status LinkCore::OnRecvMismatch(const Frame& frame) {
  credits_.erase(frame.tag);
  const auto at = sends_.find(frame.tag);
  // Without a send: it was eager and is complete, or both ends saw it at once.
  const uint64_t sent_bytes = at == sends_.end() ? 0 : at->second.data.size();
  if (at == sends_.end()) {
    if (notices_.size() < kMaxNotices) {
      notices_.push_back("plan mismatch with " + peer_ + ": " + ToString(frame.tag) +
                         ": it expected " + std::to_string(frame.length) +
                         " bytes, not those sent here");
    }
    return OkStatus();
  }
  Notice(frame.tag, sent_bytes, frame.length, /*sender=*/true);
  Send& send = at->second;
  if (send.state == SendState::kQueued || send.state == SendState::kWriting) {
    send.result = OpResult::kPlanMismatch;  // the frame must still be finished
  } else {
    FinishSend(at, OpResult::kPlanMismatch);
  }
  return OkStatus();
}

void LinkCore::OnSent(const Frame& frame) {
  if (!open()) return;
  if (frame.kind != FrameKind::kEager && frame.kind != FrameKind::kData) return;
  const auto at = sends_.find(frame.tag);
  FinishSend(at, at->second.result);
}

void LinkCore::Ask(const Tag& tag, Send& send) {
  SetWaiting(send, SendState::kAsked);
  send.pinned = true;
  Control(FrameKind::kRts, tag, send.data.size(), /*pinned=*/true);
}

void LinkCore::SetWaiting(Send& send, SendState state) {
  if (send.state == SendState::kWaiting && state != SendState::kWaiting) --waiting_;
  send.state = state;
}

void LinkCore::FinishSend(Sends::iterator at, OpResult result) {
  SetWaiting(at->second, SendState::kWriting);
  Complete(at->second.cookie, result, /*send=*/true);
  sends_.erase(at);
}

void LinkCore::Tick(Time now) {
  if (!open() || waiting_ == 0) {
    next_look_.reset();
    return;
  }
  if (!next_look_) next_look_ = now + kAskForCreditAfter;
  if (now < *next_look_) return;
  next_look_ = now + kAskForCreditAfter;
  for (auto& [tag, send] : sends_) {
    if (send.state != SendState::kWaiting) continue;
    if (send.old) Ask(tag, send);
    send.old = true;
  }
}

std::optional<Time> LinkCore::NextDeadline() const { return next_look_; }

}  // namespace reigen::transport
