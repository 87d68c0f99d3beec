#include "runtime/base/frame_io.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "runtime/base/check.h"

namespace reigen {
namespace {

constexpr size_t kHeaderBytes = 4;
constexpr size_t kReadBytes = 64 << 10;
// Consumed bytes at the head of a buffer are moved away when there are so many.
constexpr size_t kCompactBytes = 1 << 20;

// Waits until `fd` has `events`. False: the deadline passed.
StatusOr<bool> WaitFor(int fd, short events, Time deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<milliseconds>(std::max(deadline - Now(), Duration::zero()));
    const int timeout_ms = static_cast<int>(std::min<int64_t>(left.count(), 1 << 30));
    pollfd entry{fd, events, 0};
    const int n = poll(&entry, 1, timeout_ms);
    if (n > 0) return true;
    if (n == 0) return false;
    if (errno != EINTR) return ErrnoStatus(StatusCode::kInternal, "poll");
  }
}

void Compact(std::string* buffer, size_t* begin) {
  if (*begin == buffer->size()) {
    buffer->clear();
    *begin = 0;
  } else if (*begin >= kCompactBytes) {
    buffer->erase(0, *begin);
    *begin = 0;
  }
}

}  // namespace

std::string EncodeFrame(const std::string& payload) {
  REIGEN_CHECK(payload.size() <= kMaxFrameBytes, "frame too large");
  const auto n = static_cast<uint32_t>(payload.size());
  std::string frame;
  frame.reserve(kHeaderBytes + payload.size());
  for (int i = 0; i < 4; ++i) frame.push_back(static_cast<char>(n >> (8 * i)));
  return frame + payload;
}

StatusOr<std::optional<std::string>> FrameParser::Next() {
  if (buffer_.size() - begin_ < kHeaderBytes) return std::optional<std::string>();
  uint32_t n = 0;
  for (int i = 0; i < 4; ++i) {
    n |= static_cast<uint32_t>(static_cast<unsigned char>(buffer_[begin_ + i])) << (8 * i);
  }
  if (n > max_bytes_) {
    return InvalidArgument("a frame of " + std::to_string(n) + " bytes; at most " +
                           std::to_string(max_bytes_) + " are allowed");
  }
  if (buffer_.size() - begin_ < kHeaderBytes + n) return std::optional<std::string>();
  std::optional<std::string> payload(buffer_.substr(begin_ + kHeaderBytes, n));
  begin_ += kHeaderBytes + n;
  Compact(&buffer_, &begin_);
  return payload;
}

StatusOr<bool> FrameReader::Fill() {
  char data[kReadBytes];
  const ssize_t n = read(fd_, data, sizeof data);
  if (n > 0) {
    parser_.Append(data, static_cast<size_t>(n));
    return true;
  }
  if (n == 0) return false;
  if (errno == EAGAIN || errno == EINTR) return true;
  return ErrnoStatus(StatusCode::kUnavailable, "read");
}

StatusOr<std::string> FrameReader::Read(Time deadline) {
  for (;;) {
    REIGEN_ASSIGN_OR_RETURN(std::optional<std::string> payload, parser_.Next());
    if (payload) return std::move(*payload);
    REIGEN_ASSIGN_OR_RETURN(const bool ready, WaitFor(fd_, POLLIN, deadline));
    if (!ready) return DeadlineExceeded("no message in time");
    REIGEN_ASSIGN_OR_RETURN(const bool open, Fill());
    if (!open) return Unavailable("closed");
  }
}

void FrameWriter::Queue(const std::string& payload) { buffer_ += EncodeFrame(payload); }

Status FrameWriter::Flush() {
  while (begin_ < buffer_.size()) {
    const ssize_t n = write(fd_, buffer_.data() + begin_, buffer_.size() - begin_);
    if (n >= 0) {
      begin_ += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      return ErrnoStatus(StatusCode::kUnavailable, "write");
    }
  }
  Compact(&buffer_, &begin_);
  return OkStatus();
}

Status WriteFrame(int fd, const std::string& payload, Time deadline) {
  FrameWriter writer(fd);
  writer.Queue(payload);
  for (;;) {
    REIGEN_RETURN_IF_ERROR(writer.Flush());
    if (writer.pending_bytes() == 0) return OkStatus();
    REIGEN_ASSIGN_OR_RETURN(const bool ready, WaitFor(fd, POLLOUT, deadline));
    if (!ready) return DeadlineExceeded("the other side does not read");
  }
}

Status SetNonBlocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
    return ErrnoStatus(StatusCode::kInternal, "fcntl O_NONBLOCK");
  }
  return OkStatus();
}

}  // namespace reigen
