#include "runtime/transport/eager_slots.h"

#include <string>

#include "runtime/base/check.h"
#include "runtime/transport/link_limits.h"

namespace reigen::transport {

bool SlotsOut::Take(uint32_t stream) {
  const auto at = taken_.find(stream);
  if (at != taken_.end()) {
    if (at->second == kEagerSlots) return false;
    ++at->second;
    return true;
  }
  if (taken_.size() == kMaxEagerStreams) return false;
  taken_.emplace(stream, 1);
  return true;
}

Status SlotsOut::Acknowledge(uint32_t stream, uint32_t count) {
  if (count == 0) return OkStatus();
  const auto at = taken_.find(stream);
  const uint32_t taken = at == taken_.end() ? 0 : at->second;
  if (count > taken) {
    return InvalidArgument("acknowledges " + std::to_string(count) + " eager messages of stream " +
                           std::to_string(stream) + "; " + std::to_string(taken) + " are open");
  }
  at->second -= count;
  if (at->second == 0) taken_.erase(at);
  return OkStatus();
}

Status SlotsIn::Occupy(uint32_t stream) {
  auto at = streams_.find(stream);
  if (at == streams_.end()) {
    if (streams_.size() == kMaxEagerStreams) {
      return InvalidArgument("eager messages of more than " + std::to_string(kMaxEagerStreams) +
                             " streams");
    }
    at = streams_.emplace(stream, Stream()).first;
  }
  if (at->second.held + at->second.to_ack == kEagerSlots) {
    return InvalidArgument("more than " + std::to_string(kEagerSlots) +
                           " eager messages of stream " + std::to_string(stream) +
                           " without an acknowledgement");
  }
  ++at->second.held;
  return OkStatus();
}

void SlotsIn::Consume(uint32_t stream) {
  Stream& s = streams_.at(stream);
  REIGEN_CHECK(s.held > 0, "a slot is consumed once");
  --s.held;
  if (++s.to_ack == 1) to_tell_.push_back(stream);
  if (s.to_ack == kAckAtLeast) ++due_;
}

SlotsIn::Acks SlotsIn::TakeAcks() {
  if (to_tell_.empty()) return {};
  const uint32_t stream = to_tell_.front();
  to_tell_.pop_front();
  const auto at = streams_.find(stream);
  const uint32_t count = at->second.to_ack;
  if (count >= kAckAtLeast) --due_;
  at->second.to_ack = 0;
  if (at->second.held == 0) streams_.erase(at);
  return {stream, static_cast<uint16_t>(count)};
}

}  // namespace reigen::transport
