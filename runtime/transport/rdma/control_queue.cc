#include "runtime/transport/rdma/control_queue.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/transport/rdma/landings.h"

namespace reigen::transport::rdma {
namespace {

enum Content : uint8_t { kWindowOnly = 0, kFrame = 1, kFrameAndPlace = 2 };

template <typename T>
void Put(std::byte* at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    at[i] = static_cast<std::byte>((uint64_t{value} >> (8 * i)) & 0xff);
  }
}

template <typename T>
T Get(const std::byte* at) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= uint64_t{static_cast<uint8_t>(at[i])} << (8 * i);
  return static_cast<T>(value);
}

void PutPlace(std::byte* at, const Place& place) {
  Put<uint64_t>(at, place.address);
  for (size_t i = 0; i < kMaxRails; ++i) Put<uint32_t>(at + 8 + 4 * i, place.keys[i]);
  at += 8 + 4 * kMaxRails;
  Put<uint32_t>(at, place.slot);
  Put<uint8_t>(at + 4, place.rails.registered);
  Put<uint8_t>(at + 5, place.rails.near);
  Put<uint8_t>(at + 6, place.write ? 1 : 0);
}

Place GetPlace(const std::byte* at) {
  Place place;
  place.address = Get<uint64_t>(at);
  for (size_t i = 0; i < kMaxRails; ++i) place.keys[i] = Get<uint32_t>(at + 8 + 4 * i);
  at += 8 + 4 * kMaxRails;
  place.slot = Get<uint32_t>(at);
  place.rails = {Get<uint8_t>(at + 4), Get<uint8_t>(at + 5)};
  place.write = Get<uint8_t>(at + 6) != 0;
  return place;
}

}  // namespace

ControlQueue::ControlQueue(WorkQueue* queue, std::span<std::byte> memory, uint32_t local_key)
    : queue_(*queue), memory_(memory), local_key_(local_key), sending_(kControlQueue),
      counts_(kControlQueue) {
  REIGEN_CHECK(memory.size() == kMemoryBytes);
  for (uint64_t slot = 0; slot < kControlQueue; ++slot) free_.push_back(slot);
}

std::span<std::byte> ControlQueue::SendSlot(uint64_t slot) {
  return memory_.subspan(slot * kSlotBytes, kSlotBytes);
}

std::span<std::byte> ControlQueue::ReceiveSlot(uint64_t slot) {
  return memory_.subspan((kControlQueue + slot) * kSlotBytes, kSlotBytes);
}

ReceiveWork ControlQueue::ReceiveOf(uint64_t slot) {
  ReceiveWork work;
  work.id = WorkId{WorkKind::kControlReceive, 0, slot}.Encode();
  work.local = {ReceiveSlot(slot).data(), kSlotBytes, local_key_};
  return work;
}

Status ControlQueue::PostReceives() {
  std::vector<ReceiveWork> work;
  for (uint64_t slot = 0; slot < kControlQueue; ++slot) work.push_back(ReceiveOf(slot));
  return queue_.Receive(work);
}

Status ControlQueue::Send(const OutFrame& out, const Place* place) {
  REIGEN_CHECK(CanSend() && out.payload.size() <= kEagerBytes, "room for a control message");
  --window_;
  const uint64_t slot = free_.back();
  free_.pop_back();
  std::byte* const at = SendSlot(slot).data();
  Put<uint64_t>(at, 0);
  at[2] = static_cast<std::byte>(place != nullptr ? kFrameAndPlace : kFrame);
  const FrameBytes header = EncodeFrame(out.frame);
  std::memcpy(at + 8, header.data(), header.size());
  size_t bytes = kHeaderBytes;
  if (place != nullptr) {
    PutPlace(at + bytes, *place);
    bytes += kPlaceBytes;
  } else if (!out.payload.empty()) {
    std::memcpy(at + bytes, out.payload.data(), out.payload.size());
    bytes += out.payload.size();
  }
  return Post(slot, bytes, out.frame);
}

Status ControlQueue::GiveBack() {
  if (taken_ < kControlWindow / 2 || free_.empty()) return OkStatus();
  const uint64_t slot = free_.back();
  free_.pop_back();
  Put<uint64_t>(SendSlot(slot).data(), kWindowOnly);
  return Post(slot, 8, std::nullopt);
}

Status ControlQueue::Post(uint64_t slot, size_t bytes, std::optional<Frame> frame) {
  sending_[slot] = frame;
  Put<uint16_t>(SendSlot(slot).data(), static_cast<uint16_t>(std::exchange(taken_, 0)));
  SendWork work;
  work.id = WorkId{WorkKind::kControlSend, 0, slot}.Encode();
  work.opcode = Opcode::kSend;
  work.local = {SendSlot(slot).data(), static_cast<uint32_t>(bytes), local_key_};
  work.inlined = bytes <= queue_.pair().inline_bytes();
  return queue_.Send(work);
}

std::optional<Frame> ControlQueue::OnSent(uint64_t slot) {
  free_.push_back(slot);
  return std::exchange(sending_[slot], std::nullopt);
}

StatusOr<ControlQueue::Received> ControlQueue::OnReceived(uint64_t slot, uint32_t bytes) {
  const std::byte* const at = ReceiveSlot(slot).data();
  Received received;
  const uint8_t content = bytes < 8 ? 255 : static_cast<uint8_t>(at[2]);
  const size_t least = content == kWindowOnly      ? 8
                       : content == kFrame         ? kHeaderBytes
                       : content == kFrameAndPlace ? kHeaderBytes + kPlaceBytes
                                                   : kSlotBytes + 1;
  if (bytes < least || bytes > kSlotBytes) {
    return InvalidArgument("not a control message: " + std::to_string(bytes) + " bytes, content " +
                           std::to_string(content));
  }
  const auto given_back = Get<uint16_t>(at);
  if (given_back > kControlWindow - window_) {
    return InvalidArgument("the peer took " + std::to_string(given_back) +
                           " messages, more than were sent");
  }
  window_ += given_back;
  counts_[slot] = content != kWindowOnly;
  if (content == kWindowOnly) return received;

  const std::span<const std::byte, kFrameBytes> header(at + 8, kFrameBytes);
  REIGEN_ASSIGN_OR_RETURN(received.frame, DecodeFrame(header));
  received.has_frame = true;
  const bool credit = received.frame.kind == FrameKind::kCredit;
  if (credit != (content == kFrameAndPlace)) {
    return InvalidArgument("a credit without a place, or a place without a credit");
  }
  if (credit) {
    received.place = GetPlace(at + kHeaderBytes);
    if (received.place.slot > kMaxSlot) return InvalidArgument("a credit with no such slot");
    return received;
  }
  // Data of more than a page does not come here: the frame says that it is written.
  const uint64_t payload = received.frame.PayloadBytes();
  received.payload = {at + kHeaderBytes, bytes - kHeaderBytes};
  if (received.payload.size() != (payload > kEagerBytes ? 0 : payload)) {
    return InvalidArgument("a frame for " + std::to_string(payload) + " bytes came with " +
                           std::to_string(received.payload.size()));
  }
  return received;
}

Status ControlQueue::Release(uint64_t slot) {
  if (counts_[slot]) ++taken_;
  const ReceiveWork work = ReceiveOf(slot);
  return queue_.Receive({&work, 1});
}

}  // namespace reigen::transport::rdma
