#include "client/c/range_store.h"

#include <algorithm>
#include <utility>

namespace reigen::sdk {

void RangeStore::Keep(std::shared_ptr<cuda::Device> device,
                      std::unique_ptr<cuda::DeviceRange> range) {
  const std::lock_guard lock(mutex_);
  kept_.push_back({.device = std::move(device), .range = std::move(range)});
}

std::vector<RangeStore::Kept> RangeStore::TakeSurplus(uint64_t most_bytes) {
  std::vector<Kept> surplus;
  const std::lock_guard lock(mutex_);
  for (Kept& kept : std::exchange(kept_, {})) {
    const auto same = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& other) {
      return other.device == kept.device;
    });
    if (kept.range->bytes() > most_bytes) {
      surplus.push_back(std::move(kept));
    } else if (same == kept_.end()) {
      kept_.push_back(std::move(kept));
    } else {
      if (kept.range->bytes() > same->range->bytes()) std::swap(kept, *same);
      surplus.push_back(std::move(kept));
    }
  }
  return surplus;
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
