// What two fake links share: the frames in flight between them.
#ifndef REIGEN_RUNTIME_TRANSPORT_FAKE_FAKE_PIPE_H_
#define REIGEN_RUNTIME_TRANSPORT_FAKE_FAKE_PIPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/transport/fake/fake_network.h"
#include "runtime/transport/link_core.h"

namespace reigen::transport {

// Two directions of `channels` queues. `side` 0 is the end that connected first.
//
//   taken from the core --left_at--> bytes copied, OnSent --arrives_at--> OnFrame
//     --landed_at--> bytes copied, OnPayload
//
// Bytes are copied as late as the contract of Link allows, so that who touches a
// borrowed buffer too early gets wrong data.
class FakePipe {
 public:
  FakePipe(const FakeOptions& options, std::mt19937_64* random) : options_(options), random_(*random) {
    for (auto& direction : queues_) direction.resize(static_cast<size_t>(options.channels));
  }

  void Send(int side, LinkCore& core, Time now);
  Status Receive(int side, LinkCore& core, Time now);

  // The end `side` is gone; what has left it still arrives.
  void CloseSide(int side);
  void Kill(Time at, const std::string& why);
  void KillAfterFrames(uint64_t frames) { frames_left_ = frames; }

  std::optional<Time> NextEvent(int side) const;

 private:
  struct InFlight {
    Frame frame;
    std::span<const std::byte> source;  // the sender's buffer, until it has left
    std::vector<std::byte> bytes;
    Time left_at;
    Time arrives_at;
    Time landed_at;
    bool landing = false;
    std::span<std::byte> into;
  };
  struct Queue {
    std::deque<InFlight> frames;
    size_t left = 0;  // so many of the oldest have left their sender
  };

  Duration Delay();
  size_t PickChannel(const LinkCore& core);
  void Leave(Queue& queue, LinkCore& core, Time now);
  Status ReceiveChannel(Queue& queue, LinkCore& core, Time now);

  const FakeOptions& options_;
  std::mt19937_64& random_;
  std::array<std::vector<Queue>, 2> queues_;  // [sending side][channel]
  std::array<bool, 2> closed_ = {false, false};
  std::optional<Time> dead_at_;
  std::string dead_why_;
  std::optional<uint64_t> frames_left_;
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_FAKE_FAKE_PIPE_H_
