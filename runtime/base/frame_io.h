// Frames over a pipe: a 4-byte little-endian length, then so many bytes. The
// messages of proto/launch travel like this.
//
// Threads: as an int; one owner each.
// Buffers: a FrameReader holds what is read of one frame, bounded by its limit; a
//          FrameWriter holds what the other side has not taken: its owner bounds
//          it by pending_bytes().
// Errors:  the bytes are input: a frame above the limit is InvalidArgument, the
//          end of the stream Unavailable ("closed").
#ifndef REIGEN_RUNTIME_BASE_FRAME_IO_H_
#define REIGEN_RUNTIME_BASE_FRAME_IO_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace reigen {

// Bound of a frame. The largest there is carries the trainers' environment and
// arguments, which the kernel bounds to a few MiB.
inline constexpr size_t kMaxFrameBytes = size_t{64} << 20;

std::string EncodeFrame(const std::string& payload);

// Bytes in, frames out; no system calls.
class FrameParser {
 public:
  explicit FrameParser(size_t max_bytes = kMaxFrameBytes) : max_bytes_(max_bytes) {}

  void Append(const char* data, size_t bytes) { buffer_.append(data, bytes); }
  // The next whole frame; none: more bytes are needed.
  StatusOr<std::optional<std::string>> Next();
  bool empty() const { return begin_ == buffer_.size(); }

 private:
  size_t max_bytes_;
  std::string buffer_;
  size_t begin_ = 0;
};

// Reads frames from a descriptor, whether it blocks or not.
class FrameReader {
 public:
  explicit FrameReader(int fd, size_t max_bytes = kMaxFrameBytes) : fd_(fd), parser_(max_bytes) {}

  // One read(): for a loop that found the descriptor readable. False: the end.
  StatusOr<bool> Fill();
  StatusOr<std::optional<std::string>> Next() { return parser_.Next(); }

  // Waits for a whole frame; DeadlineExceeded when `deadline` passes.
  StatusOr<std::string> Read(Time deadline);

  int fd() const { return fd_; }

 private:
  int fd_;
  FrameParser parser_;
};

// Writes frames to a non-blocking descriptor without waiting.
class FrameWriter {
 public:
  explicit FrameWriter(int fd) : fd_(fd) {}

  void Queue(const std::string& payload);
  // Writes what the descriptor takes. An error (the reader is gone) is final.
  Status Flush();
  size_t pending_bytes() const { return buffer_.size() - begin_; }
  int fd() const { return fd_; }

 private:
  int fd_;
  std::string buffer_;
  size_t begin_ = 0;
};

// Writes one frame, waiting as long as it takes but not after `deadline`.
Status WriteFrame(int fd, const std::string& payload, Time deadline);

Status SetNonBlocking(int fd);

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_FRAME_IO_H_
