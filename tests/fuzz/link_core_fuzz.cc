// One LinkCore against a peer that sends anything, in any order with the owner's
// own calls. Must hold: no crash, payloads land where there is room for them, and
// every post ends exactly once.
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/transport/link_core.h"
#include "runtime/transport/link_limits.h"
#include "tests/fuzz/fuzz.h"

namespace reigen::transport {
namespace {

constexpr size_t kLengths[] = {0, 1, 8, kEagerBytes, kEagerBytes + 1, 6000};

class Harness {
 public:
  explicit Harness(FuzzInput input) : input_(input) {}

  void Run() {
    while (!input_.empty() && core_.open()) Step();
    core_.Close();
    Poll();
    REIGEN_CHECK(open_posts_.empty(), "every post ends");
  }

 private:
  Tag AnyTag() {
    const uint8_t byte = input_.Byte();
    return {.collective = {.epoch = 1, .sequence = byte & 7u, .stream = (byte >> 3) & 1u},
            .segment = (byte >> 7) & 1u};
  }
  size_t AnyLength() { return kLengths[input_.Below(6)]; }

  void Step() {
    switch (input_.Below(10)) {
      case 0:
        return Receive(RawFrame());
      case 1:
      case 2:
      case 3:
        return Receive(MadeFrame());
      case 4:
        return Land();
      case 5:
        return Post(/*send=*/true);
      case 6:
        return Post(/*send=*/false);
      case 7:
        return Write();
      case 8:
        now_ += milliseconds(input_.Byte());
        return core_.Tick(now_);
      default:
        return Poll();
    }
  }

  std::optional<Frame> RawFrame() {
    const std::string raw = input_.Bytes(kFrameBytes);
    FrameBytes bytes;
    std::memcpy(bytes.data(), raw.data(), bytes.size());
    auto frame = DecodeFrame(bytes);
    return frame.ok() ? std::optional<Frame>(*frame) : std::nullopt;
  }
  std::optional<Frame> MadeFrame() {
    Frame frame;
    frame.kind = static_cast<FrameKind>(1 + input_.Below(7));
    frame.tag = AnyTag();
    frame.length = AnyLength();
    if (frame.kind == FrameKind::kEager && frame.length > kEagerBytes) frame.length = kEagerBytes;
    const uint8_t acks = input_.Byte();
    frame.acks = acks > 200 ? acks & 3 : 0;
    frame.ack_stream = frame.tag.collective.stream;
    return frame;
  }

  void Receive(const std::optional<Frame>& frame) {
    if (!frame) return;
    const auto into = core_.OnFrame(*frame);
    if (!into.ok()) {
      core_.Fail(into.status());
      return;
    }
    REIGEN_CHECK(into->size() == frame->PayloadBytes(), "room for the payload");
    if (!into->empty()) landings_.push_back({*frame, *into});
  }
  // Some payload that has begun is there.
  void Land() {
    if (landings_.empty()) return;
    const size_t index = input_.Below(static_cast<uint32_t>(landings_.size()));
    const Landing landing = landings_[index];
    landings_.erase(landings_.begin() + static_cast<std::ptrdiff_t>(index));
    std::memset(landing.into.data(), 0x5a, landing.into.size());
    core_.OnPayload(landing.frame);
  }
  void Post(bool send) {
    const Tag tag = AnyTag();
    buffers_.push_back(std::vector<std::byte>(AnyLength()));
    const Status status = send ? core_.PostSend(buffers_.back(), tag, next_)
                               : core_.PostRecv(buffers_.back(), tag, next_);
    if (status.ok()) open_posts_[next_++] = true;
  }
  void Write() {
    if (writing_.size() < 4) {
      const auto out = core_.NextFrame(input_.Below(2) == 0);
      if (out) writing_.push_back(out->frame);
    }
    if (writing_.empty() || input_.Below(2) == 0) return;
    core_.OnSent(writing_.front());
    writing_.erase(writing_.begin());
  }
  void Poll() {
    std::array<Completion, 3> done;
    while (const size_t count = core_.Poll(done)) {
      for (size_t i = 0; i < count; ++i) {
        REIGEN_CHECK(open_posts_.erase(done[i].cookie) == 1, "a post ends once");
      }
    }
  }

  struct Landing {
    Frame frame;
    std::span<std::byte> into;
  };
  FuzzInput input_;
  LinkCore core_{"peer"};
  Time now_{};
  uint64_t next_ = 1;
  std::map<uint64_t, bool> open_posts_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<Landing> landings_;
  std::vector<Frame> writing_;
};

}  // namespace
}  // namespace reigen::transport

namespace reigen {

std::vector<std::string> FuzzSeeds() {
  using transport::EncodeFrame;
  using transport::Frame;
  transport::Frame frame;
  frame.kind = transport::FrameKind::kCredit;
  frame.length = 6000;
  const auto bytes = EncodeFrame(frame);
  const std::string raw(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {
      std::string("\0", 1) + raw + std::string("\x05\x00\x05\x07\x00\x01", 6),
      std::string("\x05\x01\x05\x01\x02\x01\x05\x00\x07\x00\x01\x09", 12),  // send, credit, write
      std::string("\x06\x01\x05\x07\x00\x01\x01\x01\x01\x05\x00\x04\x00\x09", 14),  // receive, data
      std::string("\x01\x00\x02\x02\x00\x04\x00\x06\x02\x02\x09", 11),  // eager, then its receive
  };
}

}  // namespace reigen

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reigen::transport::Harness(reigen::FuzzInput(data, size)).Run();
  return 0;
}
