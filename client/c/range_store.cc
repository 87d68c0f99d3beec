#include "client/c/range_store.h"

#include <utility>

namespace reigen::sdk {

void RangeStore::Keep(std::shared_ptr<cuda::Device> device,
                      std::unique_ptr<cuda::DeviceRange> range) {
  const std::lock_guard lock(mutex_);
  kept_.push_back({.device = std::move(device), .range = std::move(range)});
}

std::unique_ptr<cuda::DeviceRange> RangeStore::Take(const cuda::Device& device,
                                                    uint64_t least_bytes, uint64_t most_bytes) {
  const std::lock_guard lock(mutex_);
  auto best = kept_.end();
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    const uint64_t bytes = kept->range->bytes();
    if (kept->device.get() != &device || bytes < least_bytes || bytes > most_bytes) continue;
    if (best == kept_.end() || bytes < best->range->bytes()) best = kept;
  }
  if (best == kept_.end()) return nullptr;
  std::unique_ptr<cuda::DeviceRange> range = std::move(best->range);
  kept_.erase(best);
  return range;
}

}  // namespace reigen::sdk
