// The receiver's half of LinkCore.
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/transport/link_core.h"
#include "runtime/transport/link_limits.h"

namespace reigen::transport {

Status LinkCore::PostRecv(std::span<std::byte> data, const Tag& tag, uint64_t cookie,
                          Owner owner) {
  if (posted_recvs_ == max_recvs_) return ResourceExhausted("the link's receive queue is full");
  if (open() && recvs_.contains(tag)) return InvalidArgument("received twice: " + ToString(tag));
  ++posted_recvs_;
  if (!open()) {
    Complete(cookie, ended_, /*send=*/false);
    return OkStatus();
  }
  const auto at = recvs_.emplace(tag, Recv()).first;
  at->second.data = data;
  at->second.cookie = cookie;
  at->second.owner = data.empty() ? Owner::kHost : owner;
  if (TakeHeld(at) || MeetRts(at)) return OkStatus();
  if (data.size() > kEagerBytes) {
    at->second.state = RecvState::kCredited;
    Control(FrameKind::kCredit, tag, data.size(), /*pinned=*/false);
  }
  return OkStatus();
}

// True if the receive has met its eager message.
bool LinkCore::TakeHeld(Recvs::iterator at) {
  const auto held = held_.find(at->first);
  if (held == held_.end()) return false;
  Recv& recv = at->second;
  Held& message = held->second;
  if (message.unwanted || message.length != recv.data.size()) {
    // A message refused once has ended the only receive with its tag.
    message.unwanted = true;
    RefuseRecv(at, message.length);
  } else if (message.complete && recv.owner == Owner::kDevice) {
    recv.state = RecvState::kPlacing;
    placements_.push_back({at->first, {message.bytes.get(), message.length}, recv.data});
    return true;
  } else if (message.complete) {
    if (message.length > 0) std::memcpy(recv.data.data(), message.bytes.get(), message.length);
    FinishRecv(at, OpResult::kOk);
  } else {
    recv.state = RecvState::kInSlot;
    return true;
  }
  if (message.complete) {
    slots_in_.Consume(held->first.collective.stream);
    held_.erase(held);
  }
  return true;
}

std::vector<Placement> LinkCore::TakePlacements() { return std::exchange(placements_, {}); }

void LinkCore::OnPlaced(const Tag& tag) {
  if (!open()) return;
  const auto at = recvs_.find(tag);
  REIGEN_CHECK(at != recvs_.end() && at->second.state == RecvState::kPlacing, "it was to be placed");
  slots_in_.Consume(tag.collective.stream);
  held_.erase(tag);
  FinishRecv(at, OpResult::kOk);
}

// True if the sender has asked for this receive.
bool LinkCore::MeetRts(Recvs::iterator at) {
  const auto asked = asked_.find(at->first);
  if (asked == asked_.end()) return false;
  const uint64_t length = asked->second;
  asked_.erase(asked);
  if (length != at->second.data.size()) {
    RefuseRecv(at, length);
  } else {
    at->second.state = RecvState::kCredited;
    Control(FrameKind::kCredit, at->first, length, /*pinned=*/false);
  }
  return true;
}

StatusOr<std::span<std::byte>> LinkCore::OnEager(const Frame& frame) {
  const uint32_t stream = frame.tag.collective.stream;
  if (held_.contains(frame.tag)) {
    return InvalidArgument("sent twice by the peer: " + ToString(frame.tag));
  }
  const auto at = recvs_.find(frame.tag);
  if (at != recvs_.end() && (at->second.state == RecvState::kLanding ||
                             (at->second.state == RecvState::kCredited &&
                              at->second.data.size() == frame.length))) {
    return InvalidArgument("an eager message although a credit was given: " + ToString(frame.tag));
  }
  REIGEN_RETURN_IF_ERROR(slots_in_.Occupy(stream));

  std::span<std::byte> into;
  if (at == recvs_.end()) {
    into = Hold(frame, /*unwanted=*/false);
  } else if (at->second.data.size() != frame.length) {
    RefuseRecv(at, frame.length);
    into = Hold(frame, /*unwanted=*/true);
  } else if (at->second.owner == Owner::kDevice) {
    at->second.state = RecvState::kInSlot;
    into = Hold(frame, /*unwanted=*/false);
  } else {
    at->second.state = RecvState::kLanding;
    into = at->second.data;
  }
  if (frame.length == 0) OnEagerPayload(frame);
  return into;
}

std::span<std::byte> LinkCore::Hold(const Frame& frame, bool unwanted) {
  Held& held = held_[frame.tag];
  held.length = frame.length;
  held.unwanted = unwanted;
  if (frame.length > 0) held.bytes = std::make_unique<std::byte[]>(frame.length);
  return {held.bytes.get(), held.length};
}

StatusOr<std::span<std::byte>> LinkCore::OnData(const Frame& frame) {
  const auto at = recvs_.find(frame.tag);
  if (at == recvs_.end() || at->second.state != RecvState::kCredited ||
      at->second.data.size() != frame.length) {
    return InvalidArgument(std::to_string(frame.length) +
                           " bytes of data without a credit for them: " + ToString(frame.tag));
  }
  if (frame.length == 0) {
    FinishRecv(at, OpResult::kOk);
    return std::span<std::byte>();
  }
  at->second.state = RecvState::kLanding;
  return at->second.data;
}

void LinkCore::OnPayload(const Frame& frame) {
  if (!open()) return;
  if (frame.kind == FrameKind::kEager) {
    OnEagerPayload(frame);
  } else {
    FinishRecv(recvs_.find(frame.tag), OpResult::kOk);
  }
}

void LinkCore::OnEagerPayload(const Frame& frame) {
  const uint32_t stream = frame.tag.collective.stream;
  const auto at = recvs_.find(frame.tag);
  const auto held = held_.find(frame.tag);
  if (held == held_.end()) {
    slots_in_.Consume(stream);
    FinishRecv(at, OpResult::kOk);
    return;
  }
  held->second.complete = true;
  if (held->second.unwanted) {
    slots_in_.Consume(stream);
    held_.erase(held);
  } else if (at != recvs_.end()) {
    TakeHeld(at);
  }
}

Status LinkCore::OnRts(const Frame& frame) {
  const auto at = recvs_.find(frame.tag);
  if (at == recvs_.end()) {
    if (asked_.size() == kMaxPosts) {
      return InvalidArgument("more than " + std::to_string(kMaxPosts) + " requests to send open");
    }
    if (!asked_.emplace(frame.tag, frame.length).second) {
      return InvalidArgument("a second request to send " + ToString(frame.tag));
    }
    return OkStatus();
  }
  Recv& recv = at->second;
  if (recv.state != RecvState::kPosted && recv.state != RecvState::kCredited) {
    return InvalidArgument("a request to send what is being sent: " + ToString(frame.tag));
  }
  if (recv.data.size() != frame.length) {
    RefuseRecv(at, frame.length);
  } else if (recv.state == RecvState::kPosted) {
    recv.state = RecvState::kCredited;
    Control(FrameKind::kCredit, frame.tag, frame.length, /*pinned=*/false);
  }
  return OkStatus();
}

Status LinkCore::OnSendMismatch(const Frame& frame) {
  const auto at = recvs_.find(frame.tag);
  if (at == recvs_.end()) return OkStatus();  // both ends saw it at once
  if (at->second.state != RecvState::kCredited) {
    return InvalidArgument("reports a mismatch with no credit: " + ToString(frame.tag));
  }
  Notice(frame.tag, frame.length, at->second.data.size(), /*sender=*/false);
  FinishRecv(at, OpResult::kPlanMismatch);
  return OkStatus();
}

void LinkCore::RefuseRecv(Recvs::iterator at, uint64_t sent_bytes) {
  Notice(at->first, sent_bytes, at->second.data.size(), /*sender=*/false);
  Control(FrameKind::kRecvMismatch, at->first, at->second.data.size(), /*pinned=*/false);
  FinishRecv(at, OpResult::kPlanMismatch);
}

void LinkCore::FinishRecv(Recvs::iterator at, OpResult result) {
  REIGEN_CHECK(at != recvs_.end(), "a receive ends once");
  Complete(at->second.cookie, result, /*send=*/false);
  recvs_.erase(at);
}

}  // namespace reigen::transport
