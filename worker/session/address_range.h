// Addresses that stand for memory elsewhere: nothing is behind them.
#ifndef REIGEN_WORKER_SESSION_ADDRESS_RANGE_H_
#define REIGEN_WORKER_SESSION_ADDRESS_RANGE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "runtime/base/status.h"

namespace reigen::worker {

// A reservation: no other memory of this process lies there, an access faults.
//
// Threads: as a value.
// Errors:  ResourceExhausted when the address space has no such gap.
class AddressRange {
 public:
  static StatusOr<AddressRange> Reserve(uint64_t bytes);

  AddressRange() = default;
  AddressRange(AddressRange&& other) noexcept : range_(std::exchange(other.range_, {})) {}
  AddressRange& operator=(AddressRange&& other) noexcept {
    std::swap(range_, other.range_);
    return *this;
  }
  ~AddressRange();

  std::span<std::byte> range() const { return range_; }

 private:
  std::span<std::byte> range_;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SESSION_ADDRESS_RANGE_H_
