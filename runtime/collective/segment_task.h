// What is to be done to the memory of one segment, as data.
#ifndef REIGEN_RUNTIME_COLLECTIVE_SEGMENT_TASK_H_
#define REIGEN_RUNTIME_COLLECTIVE_SEGMENT_TASK_H_

#include <cstddef>
#include <cstdint>

namespace reigen::collective {

// Which segment of which part.
struct SegmentId {
  uint32_t part = 0;
  uint64_t segment = 0;
};

// Reads the trainers' inputs, writes their outputs (final values only, R1). Partial sums
// in scratch have the bucket's wire type, final values its dtype; `in`, `right` and `out`
// do not overlap unless they begin at the same byte.
struct SegmentTask {
  enum class Kind : uint8_t {
    kLoadSum,          // out = sum of this host's ranks; neutral where it has none (R8)
    kLoadRoot,         // out and the other ranks of the root's host = the root's tensor
    kAddLocal,         // out = out (+) this host's sum
    kAddLocalFinal,    // out and the ranks = finished(in (+) this host's sum)
    kCombine,          // out = in (+) right
    kCombineDeliver,   // the same; the ranks = finished(out)
    kDeliverWire,      // the ranks = finished(in)
    kDeliverFinal,     // the ranks = in
    kReduceInPlace,    // one host: the ranks = finished(their sum)
    kBroadcastInPlace  // one host: the other ranks = the root's tensor
  };
  Kind kind = Kind::kReduceInPlace;
  SegmentId id = {};
  const std::byte* in = nullptr;
  const std::byte* right = nullptr;
  std::byte* out = nullptr;
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_SEGMENT_TASK_H_
