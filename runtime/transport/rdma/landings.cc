#include "runtime/transport/rdma/landings.h"

#include <string>
#include <utility>

#include "runtime/base/check.h"

namespace reigen::transport::rdma {
namespace {

constexpr uint32_t kSlotBits = 15;
constexpr uint32_t kGenerationBits = 12;
constexpr uint32_t kAnnounced = 1u << (kSlotBits + kGenerationBits);
constexpr uint32_t kShareShift = kSlotBits + kGenerationBits + 1;
constexpr uint32_t kSlotMask = (1u << kSlotBits) - 1;
constexpr uint32_t kGenerationMask = (1u << kGenerationBits) - 1;

}  // namespace

uint32_t MakeImmediate(uint32_t slot, uint32_t shares, bool announced) {
  REIGEN_CHECK(slot <= kMaxSlot && shares > 0 && shares < 16, "an immediate value");
  return shares << kShareShift | (announced ? kAnnounced : 0) | slot;
}

uint32_t Landings::Open(const Tag& tag, uint64_t bytes, MemoryUse use) {
  if (free_.empty()) {
    REIGEN_CHECK(slots_.size() <= kSlotMask, "more credits than receives that may be posted");
    free_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot.tag = tag;
  slot.bytes = bytes;
  slot.use = std::move(use);
  slot.shares = slot.arrived = 0;
  slot.rails = 0;
  slot.to_be_announced = slot.announced = false;
  slot.open = true;
  REIGEN_CHECK(slots_by_tag_.emplace(tag, index).second, "one credit for a tag");
  return slot.generation << kSlotBits | index;
}

StatusOr<std::optional<Landings::Landed>> Landings::Arrived(uint32_t immediate, size_t rail) {
  const uint32_t index = immediate & kSlotMask;
  const uint32_t generation = immediate >> kSlotBits & kGenerationMask;
  const uint32_t shares = immediate >> kShareShift;
  const bool announced = (immediate & kAnnounced) != 0;
  if (index >= slots_.size() || !slots_[index].open || slots_[index].generation != generation ||
      shares == 0) {
    return InvalidArgument("the peer wrote without a credit (immediate value " +
                           std::to_string(immediate) + ")");
  }
  Slot& slot = slots_[index];
  if (slot.arrived > 0 && slot.shares != shares) {
    return InvalidArgument("the peer says both " + std::to_string(slot.shares) + " and " +
                           std::to_string(shares) + " shares of " + ToString(slot.tag));
  }
  if (slot.arrived == shares) {
    return InvalidArgument("the peer wrote more than the " + std::to_string(shares) + " shares of " +
                           ToString(slot.tag));
  }
  if ((slot.arrived > 0 && slot.to_be_announced != announced) || (slot.announced && !announced)) {
    return InvalidArgument("the peer announces, and does not, " + ToString(slot.tag));
  }
  slot.shares = shares;
  slot.to_be_announced = announced;
  slot.rails |= static_cast<uint8_t>(1u << rail);
  ++slot.arrived;
  return FreeIfWhole(index);
}

StatusOr<std::optional<Landings::Landed>> Landings::Announced(const Tag& tag, uint64_t bytes) {
  const auto at = slots_by_tag_.find(tag);
  if (at == slots_by_tag_.end() || slots_[at->second].bytes != bytes) {
    return InvalidArgument("the peer announces " + std::to_string(bytes) +
                           " bytes without a credit for them: " + ToString(tag));
  }
  Slot& slot = slots_[at->second];
  if (slot.announced || (slot.arrived > 0 && !slot.to_be_announced)) {
    return InvalidArgument("the peer announces twice, or what it said it would not: " +
                           ToString(tag));
  }
  slot.announced = true;
  return FreeIfWhole(at->second);
}

std::optional<Landings::Landed> Landings::FreeIfWhole(uint32_t index) {
  const Slot& slot = slots_[index];
  if (slot.arrived == 0 || slot.arrived < slot.shares) return std::nullopt;
  if (slot.to_be_announced && !slot.announced) return std::nullopt;
  return Free(index);
}

std::optional<Landings::Landed> Landings::Drop(const Tag& tag) {
  const auto at = slots_by_tag_.find(tag);
  if (at == slots_by_tag_.end()) return std::nullopt;
  return Free(at->second);
}

Landings::Landed Landings::Free(uint32_t index) {
  Slot& slot = slots_[index];
  slots_by_tag_.erase(slot.tag);
  slot.open = false;
  Landed landed = {slot.tag, slot.bytes, slot.rails, std::exchange(slot.use, nullptr)};
  slot.generation = (slot.generation + 1) & kGenerationMask;
  free_.push_back(index);
  return landed;
}

void Landings::Clear() {
  while (!slots_by_tag_.empty()) Free(slots_by_tag_.begin()->second);
}

}  // namespace reigen::transport::rdma
