#include "client/c/memory_map.h"

#include <string>

namespace reigen::sdk {
namespace {

std::string Name(const local::MemoryPlace& place) {
  if (place.owner == local::kHostScratchOwner) return "the host's scratch";
  return "arena " + std::to_string(place.arena) + " of local rank " + std::to_string(place.owner);
}

}  // namespace

void MemoryMap::Add(uint16_t owner, uint32_t arena, cuda::CuAddress address, uint64_t bytes) {
  ranges_[{owner, arena}] = Range{.address = address, .bytes = bytes};
}

Result MemoryMap::Resolve(const local::MemoryPlace& place, uint64_t count,
                          uint64_t element_bytes, cuda::CuAddress* out) const {
  const auto found = ranges_.find({place.owner, place.arena});
  if (found == ranges_.end()) return Invalid(Name(place) + " is not here");
  const Range& range = found->second;
  if (element_bytes == 0 || place.offset % element_bytes != 0) {
    return Invalid(Name(place) + ": an odd offset " + std::to_string(place.offset));
  }
  if (place.offset > range.bytes || count > (range.bytes - place.offset) / element_bytes) {
    return Invalid(Name(place) + " ends before " + std::to_string(count) + " elements from " +
                   std::to_string(place.offset) + " on");
  }
  *out = range.address + place.offset;
  return Ok();
}

}  // namespace reigen::sdk
