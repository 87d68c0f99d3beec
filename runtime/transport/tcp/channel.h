// One socket of a link, after the handshake: frames in and out.
#ifndef REIGEN_RUNTIME_TRANSPORT_TCP_CHANNEL_H_
#define REIGEN_RUNTIME_TRANSPORT_TCP_CHANNEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/link_core.h"
#include "runtime/transport/tcp/poller.h"
#include "runtime/transport/tcp/tcp_limits.h"

namespace reigen::transport {

// Payloads go from and to the posted buffers without a copy here, but for what was
// read together with the header before them.
//
// Takes frames from the core only when it can write them: a free socket takes the
// next one, a slow socket holds up only what it has begun.
//
// Threads: one owner.
// Errors:  of the socket or of the peer's frames; the link must then fail.
class Channel {
 public:
  // `path_timeout` is what the socket was tuned to, for the words of its error.
  Channel(UniqueFd fd, bool zero, Duration path_timeout)
      : fd_(std::move(fd)), zero_(zero), path_timeout_(path_timeout) {}

  // Watched for edges: readable and writable are remembered here.
  Status Watch(Poller& poller);

  // Both return when the socket has no more, or after kBytesPerTurn.
  Status Read(LinkCore& core);
  Status Write(LinkCore& core);

  // There was more to do when Read or Write returned.
  bool unfinished(const LinkCore& core) const {
    return readable_ || (writable_ && (writing() || core.HasOutput(zero_)));
  }
  // The peer has closed it, between two frames.
  bool ended() const { return ended_; }
  // A frame is partly written: the stream cannot end here cleanly.
  bool writing() const { return first_ < batch_.size(); }

  int fd() const { return fd_.get(); }
  UniqueFd TakeFd();

 private:
  struct Pending {
    OutFrame out;
    FrameBytes header;
  };

  Status Failed(const char* call) const;
  StatusOr<size_t> ReadSome();
  void SetLowWater();
  Status TakeFrames(LinkCore& core);
  void TakePayload(LinkCore& core);
  void FillBatch(LinkCore& core);
  StatusOr<size_t> WriteSome();
  void Advance(LinkCore& core, size_t bytes);

  UniqueFd fd_;
  const bool zero_;  // of the link's channels this is number 0
  const Duration path_timeout_;
  Poller::Watch watch_;
  bool readable_ = true;
  bool writable_ = true;
  bool hangup_ = false;  // the end of the stream is near: do not trust short reads
  bool ended_ = false;
  size_t low_water_ = 1;

  // Read ahead: bytes [begin_, end_).
  std::array<std::byte, kReadAheadBytes> ahead_;
  size_t begin_ = 0;
  size_t end_ = 0;
  // The payload being read, if `rest_` is not empty.
  Frame frame_;
  std::span<std::byte> rest_;

  std::vector<Pending> batch_;
  size_t first_ = 0;    // of batch_, not written whole
  size_t written_ = 0;  // bytes of it, header included
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_TCP_CHANNEL_H_
