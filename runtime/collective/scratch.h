// Scratch memory of an engine: windows of streams, and the surplus they share.
#ifndef REIGEN_RUNTIME_COLLECTIVE_SCRATCH_H_
#define REIGEN_RUNTIME_COLLECTIVE_SCRATCH_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "runtime/base/status.h"

namespace reigen::collective {

// Each stream has a window that nothing else may use (R5); what lies in no window
// is surplus, lent to whoever asks. A window may be opened over surplus that is
// lent out at that time: it is whole once that has come back.
//
// Windows fill the memory from its beginning, surplus is lent behind the last one.
//
// Threads: one owner.
// Errors:  Take* give null when there is no room now; Open says ResourceExhausted
//          when there never will be.
class Scratch {
 public:
  explicit Scratch(std::span<std::byte> memory) : memory_(memory) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  Status Open(uint32_t stream, size_t bytes);
  void Close(uint32_t stream);
  size_t WindowBytes(uint32_t stream) const;  // 0: not open

  // Memory at a 64-byte boundary (relative to the beginning of the scratch).
  std::byte* TakeFromWindow(uint32_t stream, size_t bytes);
  std::byte* TakeSurplus(size_t bytes);
  void GiveBack(std::byte* memory);

  static constexpr size_t kAlign = 64;
  static constexpr size_t Rounded(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

 private:
  struct Range {
    size_t begin = 0;
    size_t end = 0;
  };

  std::byte* Take(Range within, size_t bytes);
  size_t WindowsEnd() const;

  std::span<std::byte> memory_;
  std::map<size_t, size_t> taken_;     // begin -> end
  std::map<uint32_t, Range> windows_;  // by stream
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_SCRATCH_H_
