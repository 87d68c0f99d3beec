// Hands out parts of [0, size): best fit, neighbours joined when freed. Offsets
// only; it touches no memory. Multiples of local::kArenaAlignment.
//
// Threads: none of its own; the owner locks.
#ifndef REIGEN_CLIENT_C_BLOCK_ALLOCATOR_H_
#define REIGEN_CLIENT_C_BLOCK_ALLOCATOR_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace reigen::sdk {

class BlockAllocator {
 public:
  explicit BlockAllocator(uint64_t size);

  // nullopt: no part is large enough. 0 bytes get the smallest part.
  std::optional<uint64_t> Allocate(uint64_t bytes);
  // `offset` came from Allocate and is given back once.
  void Free(uint64_t offset);
  bool empty() const { return used_.empty(); }

 private:
  void AddFree(uint64_t offset, uint64_t bytes);
  void RemoveFree(std::map<uint64_t, uint64_t>::iterator part);

  std::map<uint64_t, uint64_t> free_;                // offset -> bytes
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // (bytes, offset) of the same
  std::unordered_map<uint64_t, uint64_t> used_;      // offset -> bytes
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_BLOCK_ALLOCATOR_H_
