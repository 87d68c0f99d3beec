#include "client/c/peer_memory.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "client/c/arena_check.h"

namespace reigen::sdk {

PeerMemory::~PeerMemory() {
  for (const cuda::CuAddress address : opened_) device_->CloseIpc(address);
  for (const Mapping& mapping : mapped_) {
    device_->UnmapHost(mapping.base);
    munmap(mapping.base, mapping.bytes);
  }
}

Result PeerMemory::Open(const local::PeerArena& arena, cuda::CuAddress* address) {
  std::array<uint8_t, local::kIpcHandleBytes> handle;
  std::copy(std::begin(arena.ipc_handle), std::end(arena.ipc_handle), handle.begin());
  if (arena.bytes < kArenaCheckBytes) return Invalid("an arena without room for its check");
  REIGEN_SDK_RETURN_IF_ERROR(device_->OpenIpc(handle, address));
  opened_.push_back(*address);
  return CheckPeerArena(*device_, *address + arena.bytes - kArenaCheckBytes,
                        {.handle = handle,
                         .own_local_rank = local_rank_,
                         .peer_gpu = std::string(
                             arena.bus_id, strnlen(arena.bus_id, sizeof arena.bus_id))});
}

Result PeerMemory::Map(const HostScratchFile& file, cuda::CuAddress* address) {
  struct stat facts = {};
  if (fstat(file.fd.get(), &facts) != 0) {
    return FailErrno(REIGEN_INTERNAL, "the worker's scratch file");
  }
  if (file.bytes == 0 || static_cast<uint64_t>(facts.st_size) < file.bytes) {
    return Fail(REIGEN_INTERNAL, "the worker's scratch file has " +
                                     std::to_string(facts.st_size) + " bytes, announced were " +
                                     std::to_string(file.bytes));
  }
  void* const base =
      mmap(nullptr, file.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd.get(), 0);
  if (base == MAP_FAILED) {
    return FailErrno(REIGEN_RESOURCE_EXHAUSTED,
                     "mapping " + std::to_string(file.bytes) + " bytes");
  }
  Result mapped = device_->MapHost(base, file.bytes, address);
  if (mapped.ok()) {
    mapped_.push_back({.base = base, .bytes = file.bytes});
  } else {
    munmap(base, file.bytes);
  }
  return mapped;
}

}  // namespace reigen::sdk
