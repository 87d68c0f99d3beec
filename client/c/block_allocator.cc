#include "client/c/block_allocator.h"

#include <algorithm>

#include "proto/local/local.h"
#include "runtime/base/check.h"

namespace reigen::sdk {
namespace {

constexpr uint64_t kUnit = local::kArenaAlignment;

}  // namespace

BlockAllocator::BlockAllocator(uint64_t size) {
  if (size / kUnit > 0) AddFree(0, size / kUnit * kUnit);
}

std::optional<uint64_t> BlockAllocator::Allocate(uint64_t bytes) {
  if (bytes > UINT64_MAX - kUnit) return std::nullopt;
  const uint64_t rounded = std::max<uint64_t>((bytes + kUnit - 1) / kUnit * kUnit, kUnit);
  const auto fit = by_size_.lower_bound({rounded, 0});
  if (fit == by_size_.end()) return std::nullopt;
  const auto [size, offset] = *fit;
  used_.emplace(offset, rounded);
  RemoveFree(free_.find(offset));
  if (size > rounded) AddFree(offset + rounded, size - rounded);
  return offset;
}

void BlockAllocator::Free(uint64_t offset) {
  const auto used = used_.find(offset);
  REIGEN_CHECK(used != used_.end());
  uint64_t bytes = used->second;
  used_.erase(used);
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      RemoveFree(before);
    }
  }
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    RemoveFree(next);
  }
  AddFree(offset, bytes);
}

void BlockAllocator::AddFree(uint64_t offset, uint64_t bytes) {
  free_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
}

void BlockAllocator::RemoveFree(std::map<uint64_t, uint64_t>::iterator part) {
  by_size_.erase({part->second, part->first});
  free_.erase(part);
}

}  // namespace reigen::sdk
