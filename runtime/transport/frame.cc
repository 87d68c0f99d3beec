#include "runtime/transport/frame.h"

#include <string>

#include "runtime/transport/link_limits.h"

namespace reigen::transport {
namespace {

constexpr std::byte kCheck{0xa7};

template <typename T>
void Put(FrameBytes& out, size_t at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out[at + i] = static_cast<std::byte>((value >> (8 * i)) & 0xff);
  }
}

template <typename T>
T Get(std::span<const std::byte, kFrameBytes> in, size_t at) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= uint64_t{static_cast<uint8_t>(in[at + i])} << (8 * i);
  }
  return static_cast<T>(value);
}

}  // namespace

FrameBytes EncodeFrame(const Frame& frame) {
  FrameBytes out;
  out[0] = static_cast<std::byte>(frame.kind);
  out[1] = kCheck;
  Put<uint16_t>(out, 2, frame.acks);
  Put<uint32_t>(out, 4, frame.ack_stream);
  Put<uint64_t>(out, 8, frame.length);
  Put<uint64_t>(out, 16, frame.tag.collective.epoch);
  Put<uint64_t>(out, 24, frame.tag.collective.sequence);
  Put<uint32_t>(out, 32, frame.tag.collective.stream);
  Put<uint32_t>(out, 36, frame.tag.step);
  Put<uint32_t>(out, 40, frame.tag.chunk);
  Put<uint32_t>(out, 44, frame.tag.segment);
  return out;
}

StatusOr<Frame> DecodeFrame(std::span<const std::byte, kFrameBytes> bytes) {
  const uint8_t kind = static_cast<uint8_t>(bytes[0]);
  if (kind < static_cast<uint8_t>(FrameKind::kEager) ||
      kind > static_cast<uint8_t>(FrameKind::kAck) || bytes[1] != kCheck) {
    return InvalidArgument("not a frame: it begins with bytes " + std::to_string(kind) + " " +
                           std::to_string(static_cast<int>(bytes[1])));
  }
  Frame frame;
  frame.kind = static_cast<FrameKind>(kind);
  frame.acks = Get<uint16_t>(bytes, 2);
  frame.ack_stream = Get<uint32_t>(bytes, 4);
  frame.length = Get<uint64_t>(bytes, 8);
  frame.tag.collective.epoch = Get<uint64_t>(bytes, 16);
  frame.tag.collective.sequence = Get<uint64_t>(bytes, 24);
  frame.tag.collective.stream = Get<uint32_t>(bytes, 32);
  frame.tag.step = Get<uint32_t>(bytes, 36);
  frame.tag.chunk = Get<uint32_t>(bytes, 40);
  frame.tag.segment = Get<uint32_t>(bytes, 44);

  const uint64_t limit = frame.kind == FrameKind::kEager ? kEagerBytes : kMaxMessageBytes;
  if (frame.length > limit) {
    return InvalidArgument("frame of kind " + std::to_string(kind) + " for " +
                           ToString(frame.tag) + " has " + std::to_string(frame.length) +
                           " bytes; at most " + std::to_string(limit) + " may be");
  }
  return frame;
}

}  // namespace reigen::transport
