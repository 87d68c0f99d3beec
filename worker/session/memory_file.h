// Memory that the worker shares with a trainer: a memfd that the worker makes,
// allocates, seals and maps. No file of a trainer is ever mapped.
#ifndef REIGEN_WORKER_SESSION_MEMORY_FILE_H_
#define REIGEN_WORKER_SESSION_MEMORY_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"

namespace reigen::worker {

// Threads: Make from any (a large one takes its time); else as a value.
// Errors:  ResourceExhausted when the machine has not so much memory.
// Faults:  allocated and sealed against a change of size: an access never faults.
class MemoryFile {
 public:
  static StatusOr<MemoryFile> Make(const std::string& name, uint64_t bytes);

  MemoryFile() = default;
  MemoryFile(MemoryFile&& other) noexcept
      : fd_(std::move(other.fd_)), memory_(std::exchange(other.memory_, {})) {}
  MemoryFile& operator=(MemoryFile&& other) noexcept;
  ~MemoryFile() { Unmap(); }

  std::span<std::byte> memory() const { return memory_; }
  int fd() const { return fd_.get(); }
  // Once it has been handed over.
  void CloseFd() { fd_.Reset(); }

 private:
  void Unmap();

  UniqueFd fd_;
  std::span<std::byte> memory_;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SESSION_MEMORY_FILE_H_
