// A trainer for tests: speaks the local protocol by hand, also wrongly.
#ifndef REIGEN_WORKER_SESSION_SCRIPTED_TRAINER_H_
#define REIGEN_WORKER_SESSION_SCRIPTED_TRAINER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "proto/local/local.h"
#include "runtime/base/clock.h"
#include "runtime/base/collective_id.h"
#include "runtime/base/dtype.h"
#include "runtime/base/unique_fd.h"

namespace reigen::worker {

struct ScriptedResult {
  local::ResultCode code = local::ResultCode::kOk;
  std::string text;
  std::array<std::byte, local::kInlineBytes> inline_bytes{};
};

// Waits are bounded by `limit`; `idle` is called while it waits, so that a worker in
// the same thread can run.
//
// Threads: one owner.
class ScriptedTrainer {
 public:
  explicit ScriptedTrainer(Duration limit = seconds(10), std::function<void()> idle = {});
  ~ScriptedTrainer();

  // False: nobody listens there.
  bool Connect(const std::string& path);
  void Send(const void* packet, size_t bytes);
  template <typename T>
  void Send(const T& packet) {
    Send(&packet, sizeof packet);
  }
  void Hello(int rank);
  // The next packet's kind, its bytes in packet(); nothing: closed or too late.
  std::optional<local::PacketKind> Receive();
  // Nothing but a Refused: its text.
  std::string ReceiveRefusal();
  void SendWithFds(const void* packet, size_t bytes, std::span<const int> fds);
  // Sees each packet first; true: Receive() goes on to the next one.
  using OnPacket = std::function<bool(local::PacketKind kind, std::vector<UniqueFd>& fds)>;
  void set_on_packet(OnPacket on_packet) { on_packet_ = std::move(on_packet); }
  // Hands what has come to it, without waiting.
  void TakePackets();
  template <typename T>
  T packet() const {
    T out;
    std::memcpy(static_cast<void*>(&out), packet_.data(), sizeof out);
    return out;
  }
  // Hello until EpochBegun; false: refused or too late.
  bool Init(int rank);
  void CloseSocket() { socket_.Reset(); }

  std::byte* arena() { return arena_; }
  local::QueueHeader& header() { return *header_; }
  std::byte* queues() { return queues_; }
  bool attached() const { return queues_ != nullptr; }
  void WakeWorker();

  // Writes slots and makes them visible together.
  void Submit(std::span<const local::Slot> slots);
  void DefineName(uint32_t id, const std::string& name);
  // Of one tensor at `offset` of the first arena, or inline; returns the request.
  uint64_t Allreduce(uint32_t name, DataType dtype, uint64_t count, uint64_t offset,
                     ReduceOp op = ReduceOp::kSum);
  // Anywhere.
  uint64_t Allreduce(uint32_t name, ReduceOp op, uint8_t device_kind,
                     local::TensorSlot tensor);
  uint64_t InlineAllreduce(uint32_t name, DataType dtype, std::span<const std::byte> payload);
  // Nothing: too late.
  std::optional<ScriptedResult> Wait(uint64_t request);

  static local::Slot ToSlot(const auto& record) {
    local::Slot slot;
    static_assert(sizeof record == sizeof slot);
    std::memcpy(slot.bytes, &record, sizeof slot);
    return slot;
  }

 private:
  std::optional<local::PacketKind> ReceiveOne();
  bool MapWelcome(std::vector<UniqueFd>& fds);
  void TakeCompletions();

  const Duration limit_;
  const std::function<void()> idle_;
  UniqueFd socket_;
  UniqueFd wake_;
  OnPacket on_packet_;
  std::vector<std::byte> packet_;
  std::deque<std::vector<std::byte>> pending_;  // that TakePackets() found
  local::QueueHeader* header_ = nullptr;
  std::byte* queues_ = nullptr;
  std::byte* arena_ = nullptr;
  size_t arena_bytes_ = 0;
  uint64_t next_request_ = 1;
  std::map<uint64_t, ScriptedResult> results_;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SESSION_SCRIPTED_TRAINER_H_
