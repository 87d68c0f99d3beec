// The blocks that reigen_alloc gave out, by address: finds the shared memory that
// a caller's tensor lies in. Outlives sessions.
//
// Threads: any; a leaf lock.
#ifndef REIGEN_CLIENT_C_USER_MEMORY_H_
#define REIGEN_CLIENT_C_USER_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "client/c/arena.h"

namespace reigen::sdk {

class UserMemory {
 public:
  struct Place {
    std::shared_ptr<ArenaFile> file;
    uint64_t offset = 0;
  };

  void* Add(Block block);
  // False: not the start of a block.
  bool Remove(void* memory);
  // Where [data, data + bytes) lies, if whole in one block.
  std::optional<Place> Find(const std::byte* data, uint64_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<uintptr_t, Block> blocks_;  // by first address
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_USER_MEMORY_H_
