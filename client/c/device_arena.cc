#include "client/c/device_arena.h"

#include "client/c/futex.h"

namespace reigen::sdk {

std::optional<DeviceBlock> DeviceArena::Allocate(uint64_t bytes) {
  std::optional<uint64_t> offset;
  {
    const std::lock_guard lock(mutex_);
    offset = blocks_.Allocate(bytes);
  }
  if (!offset) return std::nullopt;
  const auto free = [self = shared_from_this(), at = *offset](const void*) {
    {
      const std::lock_guard lock(self->mutex_);
      self->blocks_.Free(at);
    }
    self->freed_->fetch_add(1);
    FutexWakeAll(*self->freed_);
  };
  return DeviceBlock{.address = address() + *offset,
                     .arena = id_,
                     .offset = *offset,
                     .bytes = bytes,
                     .hold = std::shared_ptr<const void>(this, free)};
}

}  // namespace reigen::sdk
