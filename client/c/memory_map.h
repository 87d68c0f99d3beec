// Where the memory lies that commands may name: by owner, arena and offset, as the worker
// names it, to this process's own addresses of it on its GPU. Pure.
//
// Threads: none of its own; the owner locks.
#ifndef REIGEN_CLIENT_C_MEMORY_MAP_H_
#define REIGEN_CLIENT_C_MEMORY_MAP_H_

#include <cstdint>
#include <map>
#include <utility>

#include "client/c/result.h"
#include "client/cuda/driver_api.h"
#include "proto/local/local.h"

namespace reigen::sdk {

class MemoryMap {
 public:
  // `owner`: a local rank, or kHostScratchOwner, whose only arena is 0. Replaces what had
  // the name.
  void Add(uint16_t owner, uint32_t arena, cuda::CuAddress address, uint64_t bytes);
  // Of `count` elements of `element_bytes` bytes, whole within the arena and at a multiple
  // of their size in it. InvalidArgument names what is wrong.
  Result Resolve(const local::MemoryPlace& place, uint64_t count, uint64_t element_bytes,
                 cuda::CuAddress* out) const;

 private:
  struct Range {
    cuda::CuAddress address = 0;
    uint64_t bytes = 0;
  };

  std::map<std::pair<uint16_t, uint32_t>, Range> ranges_;  // by owner and arena
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_MEMORY_MAP_H_
