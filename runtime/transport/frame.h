// What travels on a channel once it is open: headers of 48 bytes, some followed
// by the bytes of a message. All numbers little-endian.
//
//   0   1  kind             1  1  0xa7
//   2   2  acks: so many eager slots of stream `ack_stream` are free again
//   4   4  ack_stream       8  8  length of the message in question
//   16  8  tag: epoch       24 8  sequence
//   32  4  stream           36 4  step     40 4  chunk     44 4  segment
//
// Nothing here trusts the peer: DecodeFrame refuses what is not well-formed.
#ifndef REIGEN_RUNTIME_TRANSPORT_FRAME_H_
#define REIGEN_RUNTIME_TRANSPORT_FRAME_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/transport/link.h"

namespace reigen::transport {

enum class FrameKind : uint8_t {
  kEager = 1,         // + payload; takes one of the stream's slots at the receiver
  kData = 2,          // + payload; against a credit
  kCredit = 3,        // receiver -> sender: the receive is posted, send it
  kRts = 4,           // sender -> receiver: would send, needs a credit
  kSendMismatch = 5,  // sender -> receiver: mine has this length, not yours
  kRecvMismatch = 6,  // receiver -> sender: mine has this length, not yours
  kAck = 7,           // nothing but the acknowledgement that any frame may carry
};

struct Frame {
  FrameKind kind = FrameKind::kAck;
  uint16_t acks = 0;
  uint32_t ack_stream = 0;
  uint64_t length = 0;
  Tag tag;

  uint64_t PayloadBytes() const {
    return kind == FrameKind::kEager || kind == FrameKind::kData ? length : 0;
  }
};

// Where a credit wants its bytes, for transports whose sender writes them there by
// itself (RDMA). Such a transport carries it beside the header of a credit.
inline constexpr size_t kMaxRails = 8;  // network ports of a host

// Ports that a memory is registered with, and of them those to be preferred; by bit.
struct Rails {
  uint8_t registered = 0;
  uint8_t near = 0;

  bool operator==(const Rails&) const = default;
};

struct Place {
  uint64_t address = 0;
  std::array<uint32_t, kMaxRails> keys{};  // by port of the receiver
  Rails rails;                             // of the receiver; only their keys are any
  bool write = false;  // a short message must be written, too: the CPU there cannot put it
  uint32_t slot = 0;   // the receiver's, told to it when all is written
};

inline constexpr size_t kFrameBytes = 48;
using FrameBytes = std::array<std::byte, kFrameBytes>;

FrameBytes EncodeFrame(const Frame& frame);
StatusOr<Frame> DecodeFrame(std::span<const std::byte, kFrameBytes> bytes);

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_FRAME_H_
