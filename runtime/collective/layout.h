// How a bucket is cut: parts, segments, and the pieces of tensors they consist of.
#ifndef REIGEN_RUNTIME_COLLECTIVE_LAYOUT_H_
#define REIGEN_RUNTIME_COLLECTIVE_LAYOUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/collective/bucket.h"

namespace reigen::collective {

// Elements [first, first + count) of a tensor, `offset` elements into a segment.
struct Piece {
  size_t tensor = 0;
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t offset = 0;
};

// First element of chunk c of n elements over `parts` chunks: floor(c * n / parts).
constexpr uint64_t ChunkBegin(uint64_t n, uint32_t c, uint32_t parts) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(n) * c / parts);
}

// Part q of P is the concatenation, over the tensors, of chunk (q - hash) mod P
// of each; it is cut into segments of segment_elements, the last one shorter. So
// the order of operands of an element depends on its tensor alone (R2), and the
// same elements are together in a segment at every step and on every host.
//
// Immutable; any thread.
class Layout {
 public:
  // Requires: parts >= 1, segment_elements >= 1.
  Layout(std::span<const BucketTensor> tensors, int parts, uint64_t segment_elements);

  int parts() const { return static_cast<int>(parts_.size()); }
  uint64_t segment_elements() const { return segment_elements_; }
  uint64_t PartElements(uint32_t part) const { return parts_[part].begin.back(); }

  // 0 for an empty part.
  uint64_t Segments(uint32_t part) const {
    return (PartElements(part) + segment_elements_ - 1) / segment_elements_;
  }
  uint64_t MaxSegments() const;
  uint64_t SegmentElements(uint32_t part, uint64_t segment) const {
    const uint64_t begin = segment * segment_elements_;
    const uint64_t all = PartElements(part);
    return begin >= all ? 0 : std::min(segment_elements_, all - begin);
  }

  // Calls visit(const Piece&) for the pieces of a segment, in the order of tensors.
  template <typename Visit>
  void ForEachPiece(uint32_t part, uint64_t segment, Visit visit) const {
    const Part& p = parts_[part];
    const uint64_t begin = segment * segment_elements_;
    const uint64_t end = begin + SegmentElements(part, segment);
    // The last tensor that begins at or before `begin`.
    size_t t = static_cast<size_t>(std::upper_bound(p.begin.begin(), p.begin.end(), begin) -
                                   p.begin.begin()) - 1;
    for (uint64_t at = begin; at < end; ++t) {
      const uint64_t stop = std::min(end, p.begin[t + 1]);
      if (stop <= at) continue;
      visit(Piece{t, p.first[t] + (at - p.begin[t]), stop - at, at - begin});
      at = stop;
    }
  }

 private:
  struct Part {
    std::vector<uint64_t> begin;  // of each tensor's chunk in the part; then the end
    std::vector<uint64_t> first;  // element of the tensor at which its chunk begins
  };

  std::vector<Part> parts_;
  uint64_t segment_elements_;
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_LAYOUT_H_
