// Memory of this process's own on a GPU that the worker knows by number, cut into blocks.
//
// Threads: any; a leaf lock.
// Memory:  an arena lives while a block of it does; then `end` has its memory.
#ifndef REIGEN_CLIENT_C_DEVICE_ARENA_H_
#define REIGEN_CLIENT_C_DEVICE_ARENA_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "client/c/block_allocator.h"
#include "client/cuda/device.h"

namespace reigen::sdk {

// Given back when the last copy is destroyed.
struct DeviceBlock {
  cuda::CuAddress address = 0;
  uint32_t arena = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::shared_ptr<const void> hold;
};

// One allocation.
class DeviceArena : public std::enable_shared_from_this<DeviceArena> {
 public:
  using End = std::function<void(std::unique_ptr<cuda::DeviceRange> range)>;
  // `freed` is a futex that grows with every block that is given back.
  // Blocks lie in the first `block_bytes`.
  DeviceArena(std::unique_ptr<cuda::DeviceRange> range, uint64_t block_bytes, uint32_t id, End end,
              std::shared_ptr<std::atomic<uint32_t>> freed)
      : range_(std::move(range)),
        block_bytes_(block_bytes),
        id_(id),
        end_(std::move(end)),
        freed_(std::move(freed)),
        blocks_(block_bytes) {}
  ~DeviceArena() { end_(std::move(range_)); }
  DeviceArena(const DeviceArena&) = delete;
  DeviceArena& operator=(const DeviceArena&) = delete;

  uint32_t id() const { return id_; }
  cuda::CuAddress address() const { return range_->address(); }
  uint64_t bytes() const { return range_->bytes(); }
  uint64_t block_bytes() const { return block_bytes_; }
  std::optional<DeviceBlock> Allocate(uint64_t bytes);

 private:
  std::unique_ptr<cuda::DeviceRange> range_;
  const uint64_t block_bytes_;
  const uint32_t id_;
  const End end_;
  const std::shared_ptr<std::atomic<uint32_t>> freed_;
  std::mutex mutex_;
  BlockAllocator blocks_;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_DEVICE_ARENA_H_
