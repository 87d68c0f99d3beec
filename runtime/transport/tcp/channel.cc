#include "runtime/transport/tcp/channel.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace reigen::transport {

Status Channel::Watch(Poller& poller) {
  REIGEN_ASSIGN_OR_RETURN(
      watch_, poller.Add(fd_.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                         [this](uint32_t events) {
                           const bool end = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
                           if (end) hangup_ = true;
                           if (end || (events & EPOLLIN) != 0) readable_ = true;
                           if ((events & EPOLLOUT) != 0) writable_ = true;
                         }));
  return OkStatus();
}

UniqueFd Channel::TakeFd() {
  watch_.Reset();
  return std::move(fd_);
}

Status Channel::Read(LinkCore& core) {
  for (size_t taken = 0; readable_ && !ended_ && taken < kBytesPerTurn;) {
    REIGEN_ASSIGN_OR_RETURN(const size_t got, ReadSome());
    taken += got;
    // What came goes to the payload in hand first.
    const size_t direct = std::min(got, rest_.size());
    if (direct > 0) {
      rest_ = rest_.subspan(direct);
      if (rest_.empty()) core.OnPayload(frame_);
    }
    end_ += got - direct;
    REIGEN_RETURN_IF_ERROR(TakeFrames(core));
    if (ended_ && (!rest_.empty() || begin_ != end_)) {
      return Unavailable("the connection ended within a message");
    }
  }
  if (!readable_) SetLowWater();
  return OkStatus();
}

// What errno says of a call; of a lost path, what ran out.
Status Channel::Failed(const char* call) const {
  // The last two if a router said so meanwhile.
  const bool timed_out = errno == ETIMEDOUT || errno == EHOSTUNREACH || errno == ENETUNREACH;
  const Status status = ErrnoStatus(StatusCode::kUnavailable, call);
  if (!timed_out) return status;
  return Annotate(status, "the path or the peer has gone, no sign of life for " +
                              std::to_string(static_cast<int>(ToSeconds(path_timeout_))) + " s");
}

// Within a large payload a wake-up for every packet costs more than it moves.
void Channel::SetLowWater() {
  const size_t wanted = rest_.size() >= 2 * kLowWaterBytes ? kLowWaterBytes : 1;
  if (wanted == low_water_ || ended_) return;
  const int value = static_cast<int>(wanted);
  // Best effort: without it there are only more wake-ups.
  if (setsockopt(fd_.get(), SOL_SOCKET, SO_RCVLOWAT, &value, sizeof value) == 0) low_water_ = wanted;
}

// One system call into the payload in hand and, behind it, the read-ahead.
StatusOr<size_t> Channel::ReadSome() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (begin_ > 0) {
    std::memmove(ahead_.data(), ahead_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
  }
  const iovec parts[2] = {{rest_.data(), rest_.size()}, {ahead_.data() + end_, ahead_.size() - end_}};
  const int skip = rest_.empty() ? 1 : 0;
  const ssize_t got = readv(fd_.get(), parts + skip, 2 - skip);
  if (got < 0) {
    if (errno == EINTR) return size_t{0};
    if (errno != EAGAIN) return Failed("recv");
    readable_ = false;
    return size_t{0};
  }
  if (got == 0) {
    readable_ = false;
    ended_ = true;
  }
  const size_t room = rest_.size() + ahead_.size() - end_;
  if (static_cast<size_t>(got) < room && !hangup_) readable_ = false;
  return static_cast<size_t>(got);
}

Status Channel::TakeFrames(LinkCore& core) {
  while (rest_.empty() && end_ - begin_ >= kFrameBytes) {
    const std::span<const std::byte, kFrameBytes> header(ahead_.data() + begin_, kFrameBytes);
    REIGEN_ASSIGN_OR_RETURN(frame_, DecodeFrame(header));
    begin_ += kFrameBytes;
    REIGEN_ASSIGN_OR_RETURN(rest_, core.OnFrame(frame_));
    TakePayload(core);
  }
  return OkStatus();
}

// The part of the payload that was read ahead.
void Channel::TakePayload(LinkCore& core) {
  const size_t bytes = std::min(rest_.size(), end_ - begin_);
  if (bytes == 0) return;
  std::memcpy(rest_.data(), ahead_.data() + begin_, bytes);
  begin_ += bytes;
  rest_ = rest_.subspan(bytes);
  if (rest_.empty()) core.OnPayload(frame_);
}

Status Channel::Write(LinkCore& core) {
  for (size_t sent = 0; writable_ && sent < kBytesPerTurn;) {
    if (!writing()) FillBatch(core);
    if (!writing()) return OkStatus();
    REIGEN_ASSIGN_OR_RETURN(const size_t bytes, WriteSome());
    sent += bytes;
    Advance(core, bytes);
  }
  return OkStatus();
}

void Channel::FillBatch(LinkCore& core) {
  batch_.clear();
  first_ = 0;
  written_ = 0;
  for (size_t bytes = 0; batch_.size() < kBatchFrames && bytes < kBatchBytes;) {
    const std::optional<OutFrame> out = core.NextFrame(zero_);
    if (!out) return;
    batch_.push_back({*out, EncodeFrame(out->frame)});
    bytes += kFrameBytes + out->payload.size();
  }
}

StatusOr<size_t> Channel::WriteSome() {
  std::array<iovec, 2 * kBatchFrames> parts;
  size_t count = 0;
  size_t skip = written_;
  for (size_t i = first_; i < batch_.size(); ++i) {
    const std::span<const std::byte> sources[2] = {batch_[i].header, batch_[i].out.payload};
    for (std::span<const std::byte> source : sources) {
      const size_t skipped = std::min(skip, source.size());
      skip -= skipped;
      source = source.subspan(skipped);
      if (source.empty()) continue;
      parts[count++] = {const_cast<std::byte*>(source.data()), source.size()};
    }
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const ssize_t sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<size_t>(sent);
  if (errno == EINTR) return size_t{0};
  if (errno != EAGAIN) return Failed("send");
  writable_ = false;
  return size_t{0};
}

void Channel::Advance(LinkCore& core, size_t bytes) {
  written_ += bytes;
  while (writing()) {
    const OutFrame& out = batch_[first_].out;
    const size_t whole = kFrameBytes + out.payload.size();
    if (written_ < whole) return;
    written_ -= whole;
    const Frame frame = out.frame;
    ++first_;
    core.OnSent(frame);
  }
}

}  // namespace reigen::transport
