// Two LinkCores that keep the protocol, under any order of posts, of frames on
// different channels and of the arrival of payloads. Must hold: neither ever
// refuses a frame of the other; every pair of posts ends, with the right bytes if
// the lengths agree and with kPlanMismatch at the receiver if they do not.
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/transport/link_core.h"
#include "runtime/transport/link_limits.h"
#include "tests/fuzz/fuzz.h"

namespace reigen::transport {
namespace {

constexpr size_t kLengths[] = {0, 1, 8, kEagerBytes, kEagerBytes + 1, 6000};
constexpr int kChannels = 3;

class Harness {
 public:
  explicit Harness(FuzzInput input) : input_(input) {}

  void Run() {
    while (!input_.empty()) Step();
    PostTheRest();
    // More rounds than any exchange takes; time passes for those that ask late.
    for (int round = 0; round < 40 && !AllEnded(); ++round) {
      now_ += kAskForCreditAfter;
      for (int side : {0, 1}) {
        cores_[side].Tick(now_);
        for (int channel = 0; channel < kChannels; ++channel) {
          while (Write(side, channel)) {
          }
          while (Deliver(side, channel)) {
          }
        }
      }
      for (int side : {0, 1}) Poll(side);
    }
    Verify();
  }

 private:
  struct Message {
    std::vector<std::byte> out, in;
    bool sent = false;
    bool received = false;
    std::optional<OpResult> send_result, recv_result;
  };
  struct InFlight {
    Frame frame;
    std::vector<std::byte> payload;
    bool begun = false;
    std::span<std::byte> into;
  };

  static Tag TagOf(size_t index) {
    return {.collective = {.epoch = 1, .sequence = index, .stream = 0}};
  }

  void Step() {
    const uint8_t byte = input_.Byte();
    const int side = byte & 1;
    const int channel = (byte >> 1) % kChannels;
    switch ((byte >> 4) % 8) {
      case 0:
      case 1:
        return NewMessage(side);
      case 2:
        return PostOld(side);
      case 3:
      case 4:
        Write(side, channel);
        return;
      case 5:
      case 6:
        Deliver(side, channel);
        return;
      default:
        now_ += milliseconds(50);
        cores_[side].Tick(now_);
    }
  }

  // `side` sends it; one of the ends may post at once.
  void NewMessage(int side) {
    if (messages_[side].size() == 60) return;
    const uint8_t byte = input_.Byte();
    Message message;
    const size_t length = kLengths[(byte & 7u) % 6];
    const bool agree = (byte >> 3) % 4 != 0;
    message.out.resize(length, static_cast<std::byte>(messages_[side].size() + 1));
    message.in.resize(agree ? length : kLengths[(byte >> 5) % 6]);
    messages_[side].push_back(std::move(message));
    if ((byte & 0x40) != 0) Post(side, messages_[side].size() - 1, (byte & 0x80) != 0);
  }
  void PostOld(int side) {
    if (messages_[side].empty()) return;
    const uint8_t byte = input_.Byte();
    Post(side, byte / 2 % messages_[side].size(), (byte & 1) != 0);
  }
  void Post(int sender, size_t index, bool send) {
    Message& message = messages_[sender][index];
    bool& posted = send ? message.sent : message.received;
    if (posted) return;
    posted = true;
    const uint64_t cookie = index * 2 + (send ? 1 : 0);
    const Status status = send ? cores_[sender].PostSend(message.out, TagOf(index), cookie)
                               : cores_[1 - sender].PostRecv(message.in, TagOf(index), cookie);
    REIGEN_CHECK(status.ok(), "post");
  }
  void PostTheRest() {
    for (int sender : {0, 1}) {
      for (size_t i = 0; i < messages_[sender].size(); ++i) {
        Post(sender, i, true);
        Post(sender, i, false);
      }
    }
  }

  bool Write(int side, int channel) {
    const auto out = cores_[side].NextFrame(channel == 0);
    if (!out) return false;
    InFlight flight;
    flight.frame = out->frame;
    flight.payload.assign(out->payload.begin(), out->payload.end());
    wires_[side][channel].push_back(std::move(flight));
    cores_[side].OnSent(out->frame);
    return true;
  }
  // The next thing on a channel towards `side`: a header, or its payload.
  bool Deliver(int side, int channel) {
    std::deque<InFlight>& wire = wires_[1 - side][channel];
    if (wire.empty()) return false;
    InFlight& flight = wire.front();
    LinkCore& core = cores_[side];
    if (!flight.begun) {
      const auto into = core.OnFrame(flight.frame);
      REIGEN_CHECK(into.ok(), "an honest peer is never refused");
      flight.into = *into;
      flight.begun = true;
      if (!flight.into.empty()) return true;
    } else {
      std::memcpy(flight.into.data(), flight.payload.data(), flight.into.size());
      core.OnPayload(flight.frame);
    }
    wire.pop_front();
    return true;
  }

  void Poll(int side) {
    std::array<Completion, 8> done;
    while (const size_t count = cores_[side].Poll(done)) {
      for (size_t i = 0; i < count; ++i) {
        const bool send = (done[i].cookie & 1) != 0;
        Message& message = messages_[send ? side : 1 - side][done[i].cookie / 2];
        std::optional<OpResult>& result = send ? message.send_result : message.recv_result;
        REIGEN_CHECK(!result.has_value(), "a post ends once");
        result = done[i].result;
      }
    }
  }
  bool AllEnded() const {
    for (const auto& messages : messages_) {
      for (const Message& message : messages) {
        if (!message.send_result || !message.recv_result) return false;
      }
    }
    return true;
  }
  void Verify() {
    for (const auto& messages : messages_) {
      for (const Message& message : messages) {
        REIGEN_CHECK(message.send_result && message.recv_result, "every post ends");
        if (message.out.size() == message.in.size()) {
          REIGEN_CHECK(message.send_result == OpResult::kOk, "sent");
          REIGEN_CHECK(message.recv_result == OpResult::kOk, "received");
          REIGEN_CHECK(message.out == message.in, "the right bytes");
          continue;
        }
        REIGEN_CHECK(message.recv_result == OpResult::kPlanMismatch, "the receiver is told");
        const bool eager = message.out.size() <= kEagerBytes;
        REIGEN_CHECK(eager || message.send_result == OpResult::kPlanMismatch, "the sender is told");
      }
    }
  }

  FuzzInput input_;
  LinkCore cores_[2] = {LinkCore("b"), LinkCore("a")};
  Time now_{};
  std::deque<Message> messages_[2];  // by sender; buffers stay where they are
  std::deque<InFlight> wires_[2][kChannels];
};

}  // namespace
}  // namespace reigen::transport

namespace reigen {

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  // Bursts of messages of every kind with little and with much traffic between.
  for (int gap : {0, 1, 5}) {
    for (int salt = 0; salt < 4; ++salt) {
      std::string seed;
      for (int i = 0; i < 40; ++i) {
        seed += static_cast<char>(i & 1);
        seed += static_cast<char>(i * 37 + salt * 11);
        for (int k = 0; k < gap; ++k) {
          seed += static_cast<char>(0x30 + 0x20 * (k & 1) + (i + k) % 6);
        }
      }
      seeds.push_back(seed);
    }
  }
  return seeds;
}

}  // namespace reigen

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reigen::transport::Harness(reigen::FuzzInput(data, size)).Run();
  return 0;
}
