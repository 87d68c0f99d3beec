// Whether a GPU really has another one's memory before it, once it has opened it: with some
// IOMMUs and PCIe bridges CUDA allows the access, and reads give zeros and writes are lost.
//
// The owner leaves a pattern at the end of an arena before it tells anybody of it; who has
// opened it reads that by a kernel, and writes a line of its own and reads that too.
//
// Threads: any, one for each line.
// Errors:  Unavailable, with the names of both GPUs, for an access that does not work.
#ifndef REIGEN_CLIENT_C_ARENA_CHECK_H_
#define REIGEN_CLIENT_C_ARENA_CHECK_H_

#include <cstdint>
#include <span>
#include <string>

#include "client/c/result.h"
#include "client/cuda/device.h"

namespace reigen::sdk {

// At the end of each arena that others open; no payload lies there.
inline constexpr uint64_t kArenaCheckBytes = 4096;

// `check` is where these bytes begin. The handle, which both sides have, makes the pattern.
Result WriteArenaCheck(cuda::Device& device, cuda::CuAddress check,
                       std::span<const uint8_t> handle);

struct PeerCheck {
  std::span<const uint8_t> handle;
  uint32_t own_local_rank = 0;  // chooses the line
  std::string peer_gpu;         // bus id
};
Result CheckPeerArena(cuda::Device& device, cuda::CuAddress check, const PeerCheck& peer);

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_ARENA_CHECK_H_
