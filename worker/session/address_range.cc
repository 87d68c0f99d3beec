#include "worker/session/address_range.h"

#include <sys/mman.h>

#include <string>

namespace reigen::worker {

StatusOr<AddressRange> AddressRange::Reserve(uint64_t bytes) {
  void* base = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return ErrnoStatus(StatusCode::kResourceExhausted,
                       "addresses for " + std::to_string(bytes) + " bytes of a GPU");
  }
  AddressRange range;
  range.range_ = {static_cast<std::byte*>(base), bytes};
  return range;
}

AddressRange::~AddressRange() {
  if (!range_.empty()) munmap(range_.data(), range_.size());
}

}  // namespace reigen::worker
