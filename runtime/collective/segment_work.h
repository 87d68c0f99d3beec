// The memory work of a collective in host memory, a segment at a time.
#ifndef REIGEN_RUNTIME_COLLECTIVE_SEGMENT_WORK_H_
#define REIGEN_RUNTIME_COLLECTIVE_SEGMENT_WORK_H_

#include <cstddef>
#include <cstdint>

#include "runtime/collective/bucket.h"
#include "runtime/collective/layout.h"
#include "runtime/collective/segment_task.h"
#include "runtime/reduce/kernels.h"

namespace reigen::collective {

// Threads: const; different segments may be worked on at the same time. Bucket
//          and layout must outlive it.
class SegmentWork {
 public:
  SegmentWork(const Bucket& bucket, const Layout& layout);

  void Do(const SegmentTask& task) const;

  // Bytes that work on the segment reads and writes, roughly.
  uint64_t Traffic(SegmentId id) const;

 private:
  void LoadSum(SegmentId id, std::byte* wire) const;
  void AddLocal(SegmentId id, std::byte* wire) const;
  void AddLocalFinal(SegmentId id, const std::byte* wire, std::byte* final) const;
  void Combine(SegmentId id, const std::byte* left, const std::byte* right, std::byte* out) const;
  void DeliverWire(SegmentId id, const std::byte* wire) const;
  void DeliverFinal(SegmentId id, const std::byte* final) const;
  void ReduceInPlace(SegmentId id) const;
  void Broadcast(SegmentId id, std::byte* final) const;  // null: to the ranks alone

  const Bucket& bucket_;
  const Layout& layout_;
  reduce::ReduceSpec spec_;
  uint64_t dtype_bytes_;
  uint64_t wire_bytes_;
  uint64_t copies_;  // tensors of a piece: inputs, outputs, scratch
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_SEGMENT_WORK_H_
