// Memory of others that commands work in, opened by this process for its GPU: arenas of
// the host's other trainers, and the worker's scratch in host memory.
//
// Threads: one, the command thread.
// Memory:  open until it is destroyed; no work on it goes on then.
#ifndef REIGEN_CLIENT_C_PEER_MEMORY_H_
#define REIGEN_CLIENT_C_PEER_MEMORY_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "client/c/result.h"
#include "client/c/session.h"
#include "client/cuda/device.h"
#include "proto/local/local.h"

namespace reigen::sdk {

class PeerMemory {
 public:
  PeerMemory(std::shared_ptr<cuda::Device> device, uint32_t local_rank)
      : device_(std::move(device)), local_rank_(local_rank) {}
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  // Unavailable: it is there, but the access does not work.
  Result Open(const local::PeerArena& arena, cuda::CuAddress* address);
  // Maps and page-locks it.
  Result Map(const HostScratchFile& file, cuda::CuAddress* address);

 private:
  struct Mapping {
    void* base = nullptr;
    uint64_t bytes = 0;
  };

  const std::shared_ptr<cuda::Device> device_;
  const uint32_t local_rank_;  // this process's
  std::vector<cuda::CuAddress> opened_;
  std::vector<Mapping> mapped_;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_PEER_MEMORY_H_
