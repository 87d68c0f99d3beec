#include "runtime/transport/link_core.h"

#include <utility>

#include "runtime/transport/link_limits.h"

namespace reigen::transport {

size_t LinkCore::Poll(std::span<Completion> out) {
  size_t count = 0;
  for (; count < out.size() && !completions_.empty(); ++count) {
    out[count] = completions_.front().completion;
    --(completions_.front().send ? posted_sends_ : posted_recvs_);
    completions_.pop_front();
  }
  return count;
}

void LinkCore::Close() { End(Aborted("closed here"), OpResult::kCancelled); }

void LinkCore::Fail(const Status& why) { End(why, OpResult::kLinkLost); }

void LinkCore::End(const Status& why, OpResult result) {
  if (!open()) return;
  status_ = why;
  ended_ = result;
  for (const auto& [tag, send] : sends_) Complete(send.cookie, result, /*send=*/true);
  for (const auto& [tag, recv] : recvs_) Complete(recv.cookie, result, /*send=*/false);
  sends_.clear();
  recvs_.clear();
  credits_.clear();
  asked_.clear();
  held_.clear();
  placements_.clear();
  for (auto* queue : {&urgent_, &pinned_urgent_, &bulk_, &pinned_bulk_}) queue->clear();
  waiting_ = 0;
  next_look_.reset();
}

void LinkCore::Complete(uint64_t cookie, OpResult result, bool send) {
  completions_.push_back({{cookie, result}, send});
}

bool LinkCore::HasOutput(bool channel_zero) const {
  if (!open()) return false;
  if (!urgent_.empty() || !bulk_.empty() || slots_in_.due()) return true;
  return channel_zero && (!pinned_urgent_.empty() || !pinned_bulk_.empty());
}

std::optional<OutFrame> LinkCore::NextFrame(bool channel_zero) {
  if (!open()) return std::nullopt;
  std::deque<Frame>* from = nullptr;
  if (channel_zero && !pinned_urgent_.empty()) {
    from = &pinned_urgent_;
  } else if (!urgent_.empty()) {
    from = &urgent_;
  } else if (channel_zero && !pinned_bulk_.empty()) {
    from = &pinned_bulk_;
  } else if (!bulk_.empty()) {
    from = &bulk_;
  } else if (!slots_in_.due()) {
    return std::nullopt;
  }

  OutFrame out;  // an acknowledgement alone, if no queue has a frame
  if (from != nullptr) {
    out.frame = from->front();
    from->pop_front();
  }
  if (out.frame.kind == FrameKind::kEager || out.frame.kind == FrameKind::kData) {
    Send& send = sends_.at(out.frame.tag);
    send.state = SendState::kWriting;
    out.payload = send.data;
    out.owner = send.owner;
    out.place = send.place;
    // The credit of a short message answers its RTS, which so cannot be overtaken.
    out.pinned = send.pinned && send.data.size() > kEagerBytes;
  } else if (out.frame.kind == FrameKind::kCredit) {
    const auto recv = recvs_.find(out.frame.tag);
    if (recv != recvs_.end()) out.target = recv->second.data;
  }
  // Data may be written with nothing that could carry them.
  if (out.frame.kind == FrameKind::kData) return out;
  const SlotsIn::Acks acks = slots_in_.TakeAcks();
  out.frame.acks = acks.count;
  out.frame.ack_stream = acks.stream;
  return out;
}

StatusOr<std::span<std::byte>> LinkCore::OnFrame(const Frame& frame, const Place& place) {
  REIGEN_RETURN_IF_ERROR(status_);
  REIGEN_RETURN_IF_ERROR(slots_out_.Acknowledge(frame.ack_stream, frame.acks));
  Status status;
  switch (frame.kind) {
    case FrameKind::kEager:
      return OnEager(frame);
    case FrameKind::kData:
      return OnData(frame);
    case FrameKind::kCredit:
      status = OnCredit(frame, place);
      break;
    case FrameKind::kRts:
      status = OnRts(frame);
      break;
    case FrameKind::kSendMismatch:
      status = OnSendMismatch(frame);
      break;
    case FrameKind::kRecvMismatch:
      status = OnRecvMismatch(frame);
      break;
    case FrameKind::kAck:
      break;
  }
  REIGEN_RETURN_IF_ERROR(status);
  return std::span<std::byte>();
}

std::vector<std::string> LinkCore::TakeNotices() { return std::exchange(notices_, {}); }

void LinkCore::Control(FrameKind kind, const Tag& tag, uint64_t length, bool pinned) {
  (pinned ? pinned_urgent_ : urgent_)
      .push_back({.kind = kind, .acks = 0, .ack_stream = 0, .length = length, .tag = tag});
}

void LinkCore::Notice(const Tag& tag, uint64_t sent_bytes, uint64_t expected_bytes, bool sender) {
  if (notices_.size() == kMaxNotices) return;
  notices_.push_back("plan mismatch with " + peer_ + ": " + ToString(tag) + ": " +
                     std::to_string(sent_bytes) + " bytes sent" + (sender ? " here, " : " there, ") +
                     std::to_string(expected_bytes) + " expected" + (sender ? " there" : " here"));
}

}  // namespace reigen::transport
