#include "client/c/user_memory.h"

#include <utility>

namespace reigen::sdk {

void* UserMemory::Add(Block block) {
  std::byte* const data = block.data();
  const std::lock_guard lock(mutex_);
  blocks_.emplace(reinterpret_cast<uintptr_t>(data), std::move(block));
  return data;
}

bool UserMemory::Remove(void* memory) {
  Block removed;  // destroyed, and perhaps unmapped, without the lock
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(reinterpret_cast<uintptr_t>(memory));
  if (found == blocks_.end()) return false;
  removed = std::move(found->second);
  blocks_.erase(found);
  return true;
}

std::optional<UserMemory::Place> UserMemory::Find(const std::byte* data, uint64_t bytes) const {
  const auto address = reinterpret_cast<uintptr_t>(data);
  const std::lock_guard lock(mutex_);
  auto found = blocks_.upper_bound(address);
  if (found == blocks_.begin()) return std::nullopt;
  --found;
  const uint64_t into = address - found->first;
  const Block& block = found->second;
  if (into > block.bytes() || bytes > block.bytes() - into) return std::nullopt;
  return Place{.file = block.file(), .offset = block.offset() + into};
}

}  // namespace reigen::sdk
