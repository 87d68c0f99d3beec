#include "worker/session/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace reigen::worker {

StatusOr<MemoryFile> MemoryFile::Make(const std::string& name, uint64_t bytes) {
  MemoryFile file;
  file.fd_.Reset(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.fd_.valid()) return ErrnoStatus(StatusCode::kResourceExhausted, "memfd_create");
  const std::string what = std::to_string(bytes) + " bytes of shared memory";
  if (ftruncate(file.fd_.get(), static_cast<off_t>(bytes)) != 0) {
    return ErrnoStatus(StatusCode::kResourceExhausted, what);
  }
  // Now, not at the first access: there the lack of memory is a SIGBUS.
  int allocated = 0;
  do {
    allocated = fallocate(file.fd_.get(), 0, 0, static_cast<off_t>(bytes));
  } while (allocated != 0 && errno == EINTR);
  if (allocated != 0 && errno != EOPNOTSUPP) {
    return ErrnoStatus(StatusCode::kResourceExhausted, what);
  }
  if (fcntl(file.fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return ErrnoStatus(StatusCode::kInternal, "sealing a memfd");
  }
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd_.get(), 0);
  if (base == MAP_FAILED) return ErrnoStatus(StatusCode::kResourceExhausted, what);
  file.memory_ = {static_cast<std::byte*>(base), bytes};
  return file;
}

MemoryFile& MemoryFile::operator=(MemoryFile&& other) noexcept {
  if (this == &other) return *this;
  Unmap();
  fd_ = std::move(other.fd_);
  memory_ = std::exchange(other.memory_, {});
  return *this;
}

void MemoryFile::Unmap() {
  if (!memory_.empty()) munmap(memory_.data(), memory_.size());
  memory_ = {};
}

}  // namespace reigen::worker
