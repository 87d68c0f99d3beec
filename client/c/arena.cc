#include "client/c/arena.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <utility>

namespace reigen::sdk {

ArenaFile::ArenaFile(std::byte* base, uint32_t id, uint64_t bytes)
    : base_(base), id_(id), bytes_(bytes), blocks_(bytes) {}

ArenaFile::~ArenaFile() {
  if (unpin_) unpin_();
  munmap(base_, bytes_);
}

bool ArenaFile::PinOnce(const std::function<bool()>& pin, std::function<void()> unpin) {
  const std::lock_guard lock(pin_mutex_);
  if (!std::exchange(pin_tried_, true) && pin()) unpin_ = std::move(unpin);
  return static_cast<bool>(unpin_);
}

Result ArenaFile::MapAt(int fd, int flags, uint32_t id, uint64_t bytes,
                        std::shared_ptr<ArenaFile>* out) {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (base == MAP_FAILED) {
    return FailErrno(REIGEN_RESOURCE_EXHAUSTED, "mapping " + std::to_string(bytes) + " bytes");
  }
  out->reset(new ArenaFile(static_cast<std::byte*>(base), id, bytes));
  return Ok();
}

Result ArenaFile::Map(int fd, uint32_t id, uint64_t bytes, std::shared_ptr<ArenaFile>* out) {
  struct stat file = {};
  if (fstat(fd, &file) != 0) return FailErrno(REIGEN_INTERNAL, "the worker's arena file");
  if (bytes == 0 || static_cast<uint64_t>(file.st_size) < bytes) {
    return Fail(REIGEN_INTERNAL, "the worker's arena file has " + std::to_string(file.st_size) +
                                     " bytes, announced were " + std::to_string(bytes));
  }
  return MapAt(fd, MAP_SHARED, id, bytes, out);
}

Result ArenaFile::MapPrivate(uint64_t bytes, std::shared_ptr<ArenaFile>* out) {
  return MapAt(-1, MAP_PRIVATE | MAP_ANONYMOUS, 0, bytes, out);
}

std::optional<uint64_t> ArenaFile::Allocate(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return blocks_.Allocate(bytes);
}

void ArenaFile::Free(uint64_t offset) {
  const std::lock_guard lock(mutex_);
  blocks_.Free(offset);
}

Block& Block::operator=(Block&& other) noexcept {
  if (this != &other) {
    Reset();
    file_ = std::move(other.file_);
    offset_ = other.offset_;
    bytes_ = other.bytes_;
  }
  return *this;
}

void Block::Reset() {
  if (file_ == nullptr) return;
  file_->Free(offset_);
  file_.reset();
}

void Arena::Add(std::shared_ptr<ArenaFile> file) {
  const std::lock_guard lock(mutex_);
  files_.push_back(std::move(file));
}

std::optional<Block> Arena::Allocate(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (const auto& file : files_) {
    if (const auto offset = file->Allocate(bytes)) return Block(file, *offset, bytes);
  }
  return std::nullopt;
}

bool Arena::Has(const ArenaFile& file) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(files_.begin(), files_.end(),
                     [&](const auto& known) { return known.get() == &file; });
}

uint64_t Arena::total_bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t total = 0;
  for (const auto& file : files_) total += file->bytes();
  return total;
}

uint32_t Arena::file_count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(files_.size());
}

}  // namespace reigen::sdk
