// The receiver's book of credits that are out. Pure.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_LANDINGS_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_LANDINGS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/link.h"
#include "runtime/transport/rdma/memory.h"

namespace reigen::transport::rdma {

// The immediate value with which the sender ends its share of a message on one
// queue pair: the slot of the credit, how many queue pairs have a share, and whether
// an announcement comes as well, on the control queue.
//
//   bits 31-28 shares   27 announced   26-15 generation of the slot   14-0 slot
uint32_t MakeImmediate(uint32_t slot, uint32_t shares, bool announced = false);
inline constexpr uint32_t kMaxSlot = (1u << 27) - 1;  // with its generation

// A slot for each credit, from when it is given until all shares have come, and the
// announcement if there is one, or until the post has ended in another way. A slot's
// generation is another one each time: what belongs to an earlier credit is told from
// what is new.
//
// A share has landed when its immediate value has come, by the queue pair that wrote it,
// and not before: what comes by another one says nothing of it (devices write to memory
// each in its own time). So the announcement ends no message by itself.
//
// Memory: a slot holds a use of the memory that the peer may write to (R7).
class Landings {
 public:
  // The slot to put into the credit.
  uint32_t Open(const Tag& tag, uint64_t bytes, MemoryUse use);

  struct Landed {
    Tag tag;
    uint64_t bytes = 0;
    uint8_t rails = 0;  // of this host that its shares came by, by bit
    MemoryUse use;
  };
  // An immediate value has come by `rail`. The message, if it is whole with that.
  // InvalidArgument: there is no such credit, or no share of it is missing.
  StatusOr<std::optional<Landed>> Arrived(uint32_t immediate, size_t rail);
  // The announcement has come, before the shares or behind them. The message, if it is
  // whole with that. InvalidArgument: there is no such credit, or it was announced.
  StatusOr<std::optional<Landed>> Announced(const Tag& tag, uint64_t bytes);

  // The message came in another way; or it never will, for the lengths differ. Nothing:
  // there is no such credit.
  std::optional<Landed> Drop(const Tag& tag);

  size_t open() const { return slots_by_tag_.size(); }
  void Clear();

 private:
  struct Slot {
    Tag tag;
    uint64_t bytes = 0;
    MemoryUse use;
    uint32_t generation = 0;
    uint32_t shares = 0;   // as the first immediate value said
    uint32_t arrived = 0;  // of them
    uint8_t rails = 0;     // that they came by
    bool to_be_announced = false;  // as the first immediate value said
    bool announced = false;
    bool open = false;
  };
  std::optional<Landed> FreeIfWhole(uint32_t slot);
  Landed Free(uint32_t slot);

  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  std::unordered_map<Tag, uint32_t, TagHash> slots_by_tag_;
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_LANDINGS_H_
