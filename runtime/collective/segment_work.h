// The memory work of a collective, a segment at a time.
#ifndef REIGEN_RUNTIME_COLLECTIVE_SEGMENT_WORK_H_
#define REIGEN_RUNTIME_COLLECTIVE_SEGMENT_WORK_H_

#include <cstddef>
#include <cstdint>

#include "runtime/collective/bucket.h"
#include "runtime/collective/layout.h"
#include "runtime/reduce/kernels.h"

namespace reigen::collective {

// Which segment of which part.
struct SegmentId {
  uint32_t part = 0;
  uint64_t segment = 0;
};

// Reads the trainers' inputs, writes their outputs (final values only, R1).
// `wire` is a segment of partial sums in scratch, `final` one of final values;
// they do not overlap unless they begin at the same byte.
//
// Threads: const; different segments may be worked on at the same time. Bucket
//          and layout must outlive it.
class SegmentWork {
 public:
  SegmentWork(const Bucket& bucket, const Layout& layout);

  // The sum of this host's ranks; the neutral element where it has none (R8).
  void LoadSum(SegmentId id, std::byte* wire) const;
  // The root's tensor, to scratch and to the other ranks of the root's host.
  void LoadRoot(SegmentId id, std::byte* final) const;

  // wire = wire (+) this host's sum.
  void AddLocal(SegmentId id, std::byte* wire) const;
  // The same, finished, to scratch and to the ranks.
  void AddLocalFinal(SegmentId id, const std::byte* wire, std::byte* final) const;
  // out = left (+) right; out may be one of them.
  void Combine(SegmentId id, const std::byte* left, const std::byte* right, std::byte* out) const;

  void DeliverWire(SegmentId id, const std::byte* wire) const;    // finishes it
  void DeliverFinal(SegmentId id, const std::byte* final) const;  // copies it

  // One host: straight from the ranks' inputs to their outputs.
  void ReduceInPlace(SegmentId id) const;
  void BroadcastInPlace(SegmentId id) const;

  // Bytes that work on the segment reads and writes, roughly.
  uint64_t Traffic(SegmentId id) const;

 private:
  const Bucket& bucket_;
  const Layout& layout_;
  reduce::ReduceSpec spec_;
  uint64_t dtype_bytes_;
  uint64_t wire_bytes_;
  uint64_t copies_;  // tensors of a piece: inputs, outputs, scratch
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_SEGMENT_WORK_H_
