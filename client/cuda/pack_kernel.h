// Many tensors of a GPU to or from one packed range of its memory, in one launch: the
// table of what lies where is the launch's argument. The same code for the host, where
// tests run it.
//
// The packed range is dealt out in tiles, one for each block of threads, whatever the
// tensors' sizes are; each thread moves slots of 16 bytes. A slot may hold bytes of several
// tensors, and of each tensor both addresses have any alignment; of one with strides the
// packed bytes begin at a slot's begin, and its elements are aligned as their size is.
#ifndef REIGEN_CLIENT_CUDA_PACK_KERNEL_H_
#define REIGEN_CLIENT_CUDA_PACK_KERNEL_H_

#include <cstdint>

#include "client/cuda/host_device.h"

namespace reigen::sdk::cuda {

inline constexpr uint32_t kPackSlotBytes = 16;
inline constexpr uint32_t kPackThreads = 256;
inline constexpr uint32_t kPackTileBytes = 16384;
// Under the 4 KiB of arguments that every driver takes.
inline constexpr uint32_t kMaxPackItems = 254;
inline constexpr uint32_t kMaxStridedItems = 42;
inline constexpr uint32_t kMaxStridedDims = 4;

// One after the other in the packed range, with gaps at most.
struct PackItem {
  uint64_t tensor;
  uint32_t packed;  // from the range's begin on
  uint32_t bytes;
};

struct PackBatch {
  uint64_t range;  // a multiple of kPackSlotBytes
  uint32_t item_count;
  uint32_t to_tensors;  // 0: tensors -> range
  PackItem items[kMaxPackItems];
};
static_assert(sizeof(PackBatch) <= 4096);

// A part of a tensor with strides, from an element on in logical order.
struct StridedItem {
  uint64_t tensor;
  uint32_t packed;
  uint32_t bytes;
  uint64_t first;  // element
  uint32_t element_bytes;
  uint32_t dims;
  uint64_t extents[kMaxStridedDims];  // outermost first
  int64_t strides[kMaxStridedDims];   // bytes
};

struct StridedBatch {
  uint64_t range;
  uint32_t item_count;
  uint32_t to_tensors;
  StridedItem items[kMaxStridedItems];
};
static_assert(sizeof(StridedBatch) <= 4096);

// The slot that the first item begins in.
template <typename Batch>
REIGEN_HOST_DEVICE uint32_t FirstSlot(const Batch& batch) {
  return batch.items[0].packed / kPackSlotBytes * kPackSlotBytes;
}

template <typename Batch>
uint32_t PackBlocks(const Batch& batch) {
  const auto& last = batch.items[batch.item_count - 1];
  const uint64_t bytes = uint64_t{last.packed} + last.bytes - FirstSlot(batch);
  return static_cast<uint32_t>((bytes + kPackTileBytes - 1) / kPackTileBytes);
}

namespace pack {

template <typename T>
REIGEN_HOST_DEVICE uint32_t MoveAll(uint64_t to, uint64_t from, uint32_t done, uint32_t bytes) {
  for (; done + sizeof(T) <= bytes; done += sizeof(T)) Move<T>(to + done, from + done);
  return done;
}

// As wide as both addresses are aligned, then what is left of it.
REIGEN_HOST_DEVICE inline void MoveSlot(uint64_t to, uint64_t from, uint32_t bytes) {
  const uint64_t alignment = to | from;
  if (bytes == kPackSlotBytes && alignment % 16 == 0) return Move<Wide>(to, from);
  uint32_t done = 0;
  if (alignment % 8 == 0) done = MoveAll<uint64_t>(to, from, done, bytes);
  if (alignment % 4 == 0) done = MoveAll<uint32_t>(to, from, done, bytes);
  if (alignment % 2 == 0) done = MoveAll<uint16_t>(to, from, done, bytes);
  MoveAll<uint8_t>(to, from, done, bytes);
}

REIGEN_HOST_DEVICE inline void MoveElement(uint64_t to, uint64_t from, uint32_t bytes) {
  switch (bytes) {
    case 1: return Move<uint8_t>(to, from);
    case 2: return Move<uint16_t>(to, from);
    case 4: return Move<uint32_t>(to, from);
    default: return Move<uint64_t>(to, from);
  }
}

// `bytes` from `begin` of the range on, which are of one slot.
REIGEN_HOST_DEVICE inline void MoveItemPart(const PackBatch& batch, const PackItem& item,
                                            uint32_t begin, uint32_t bytes) {
  const uint64_t tensor = item.tensor + (begin - item.packed);
  const uint64_t packed = batch.range + begin;
  batch.to_tensors != 0 ? MoveSlot(tensor, packed, bytes) : MoveSlot(packed, tensor, bytes);
}

// A GPU divides 32 bits far faster.
REIGEN_HOST_DEVICE inline uint64_t Quotient(uint64_t a, uint64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
  return a / b;
}

REIGEN_HOST_DEVICE inline void MoveItemPart(const StridedBatch& batch, const StridedItem& item,
                                            uint32_t begin, uint32_t bytes) {
  uint64_t element = item.first + (begin - item.packed) / item.element_bytes;
  for (uint32_t done = 0; done < bytes; done += item.element_bytes, ++element) {
    uint64_t left = element;
    uint64_t tensor = item.tensor;
    for (uint32_t d = item.dims; d-- > 0;) {
      const uint64_t outer = Quotient(left, item.extents[d]);
      tensor += static_cast<uint64_t>(
          static_cast<int64_t>(left - outer * item.extents[d]) * item.strides[d]);
      left = outer;
    }
    const uint64_t packed = batch.range + begin + done;
    batch.to_tensors != 0 ? MoveElement(tensor, packed, item.element_bytes)
                          : MoveElement(packed, tensor, item.element_bytes);
  }
}

// The first item from `low` on that ends after `offset`.
template <typename Batch>
REIGEN_HOST_DEVICE uint32_t ItemAt(const Batch& batch, uint32_t low, uint32_t offset) {
  if (offset < batch.items[low].packed + batch.items[low].bytes) return low;
  uint32_t high = batch.item_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const auto& item = batch.items[middle];
    if (item.packed + item.bytes <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// A whole tile of one aligned tensor, all loads of a thread at once: what most of the
// bytes are. False: it is none.
REIGEN_HOST_DEVICE inline bool MoveTile(const PackBatch& batch, const PackItem& item,
                                        uint32_t begin, uint32_t thread) {
  const uint64_t tensor = item.tensor + (begin - item.packed);
  if (begin < item.packed || item.packed + item.bytes - begin < kPackTileBytes ||
      tensor % sizeof(Wide) != 0) {
    return false;
  }
  constexpr uint32_t kSlots = kPackTileBytes / kPackThreads / kPackSlotBytes;
  const uint64_t packed = batch.range + begin;
  const uint64_t from = batch.to_tensors != 0 ? packed : tensor;
  const uint64_t to = batch.to_tensors != 0 ? tensor : packed;
  Wide slots[kSlots];
  REIGEN_UNROLL
  for (uint32_t n = 0; n < kSlots; ++n) {
    slots[n] = Load<Wide>(from + (n * kPackThreads + thread) * kPackSlotBytes);
  }
  REIGEN_UNROLL
  for (uint32_t n = 0; n < kSlots; ++n) {
    Store(to + (n * kPackThreads + thread) * kPackSlotBytes, slots[n]);
  }
  return true;
}

REIGEN_HOST_DEVICE inline bool MoveTile(const StridedBatch&, const StridedItem&, uint32_t,
                                        uint32_t) {
  return false;
}

}  // namespace pack

// What one thread of a launch of PackBlocks(batch) x kPackThreads does.
template <typename Batch>
REIGEN_HOST_DEVICE void PackThread(const Batch& batch, uint32_t block, uint32_t thread) {
  const uint32_t begin = FirstSlot(batch) + block * kPackTileBytes;
  uint32_t index = pack::ItemAt(batch, 0, begin);  // the same for the whole block
  if (index == batch.item_count) return;
  if (pack::MoveTile(batch, batch.items[index], begin, thread)) return;
  for (uint32_t at = thread * kPackSlotBytes; at < kPackTileBytes;
       at += kPackThreads * kPackSlotBytes) {
    const uint32_t slot = begin + at;
    const uint32_t end = slot + kPackSlotBytes;
    index = pack::ItemAt(batch, index, slot);
    for (uint32_t i = index; i < batch.item_count && batch.items[i].packed < end; ++i) {
      const auto& item = batch.items[i];
      const uint32_t item_end = item.packed + item.bytes;
      const uint32_t from = item.packed < slot ? slot : item.packed;
      pack::MoveItemPart(batch, item, from, (item_end < end ? item_end : end) - from);
    }
  }
}

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_PACK_KERNEL_H_
