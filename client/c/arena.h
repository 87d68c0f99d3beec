// Memory that a trainer and its worker both map: the worker's memfds, cut into
// blocks. Also the memory behind reigen_alloc.
//
// Threads: any; leaf locks.
// Memory:  a file stays mapped while a Block of it lives, also after the session
//          that brought it (ordinary memory from then on).
#ifndef REIGEN_CLIENT_C_ARENA_H_
#define REIGEN_CLIENT_C_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "client/c/block_allocator.h"
#include "client/c/result.h"

namespace reigen::sdk {

// One mapping.
class ArenaFile {
 public:
  // Maps the worker's memfd of `bytes` bytes. `fd` may be closed afterwards.
  static Result Map(int fd, uint32_t id, uint64_t bytes, std::shared_ptr<ArenaFile>* out);
  // Memory of this process alone (jobs without daemons).
  static Result MapPrivate(uint64_t bytes, std::shared_ptr<ArenaFile>* out);
  ~ArenaFile();
  ArenaFile(const ArenaFile&) = delete;
  ArenaFile& operator=(const ArenaFile&) = delete;

  uint32_t id() const { return id_; }
  uint64_t bytes() const { return bytes_; }
  std::byte* base() const { return base_; }
  std::optional<uint64_t> Allocate(uint64_t bytes);
  void Free(uint64_t offset);
  // Calls `pin` the first time; if that was true, `unpin` before the unmapping. Returns
  // what it was.
  bool PinOnce(const std::function<bool()>& pin, std::function<void()> unpin);

 private:
  ArenaFile(std::byte* base, uint32_t id, uint64_t bytes);
  static Result MapAt(int fd, int flags, uint32_t id, uint64_t bytes,
                      std::shared_ptr<ArenaFile>* out);

  std::byte* const base_;
  const uint32_t id_;
  const uint64_t bytes_;
  std::mutex mutex_;
  BlockAllocator blocks_;
  std::mutex pin_mutex_;  // pinning takes long
  bool pin_tried_ = false;
  std::function<void()> unpin_;  // empty: not pinned
};

// A part of a file, given back when destroyed.
class Block {
 public:
  Block() = default;
  Block(std::shared_ptr<ArenaFile> file, uint64_t offset, uint64_t bytes)
      : file_(std::move(file)), offset_(offset), bytes_(bytes) {}
  Block(Block&& other) noexcept = default;
  Block& operator=(Block&& other) noexcept;
  ~Block() { Reset(); }

  bool valid() const { return file_ != nullptr; }
  std::byte* data() const { return file_->base() + offset_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t offset() const { return offset_; }
  const std::shared_ptr<ArenaFile>& file() const { return file_; }
  void Reset();

 private:
  std::shared_ptr<ArenaFile> file_;
  uint64_t offset_ = 0;
  uint64_t bytes_ = 0;
};

// The files of one session.
class Arena {
 public:
  void Add(std::shared_ptr<ArenaFile> file);
  // nullopt: no file has room; the worker has to be asked for another.
  std::optional<Block> Allocate(uint64_t bytes);
  bool Has(const ArenaFile& file) const;
  uint64_t total_bytes() const;
  uint32_t file_count() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<ArenaFile>> files_;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_ARENA_H_
