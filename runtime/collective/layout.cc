#include "runtime/collective/layout.h"

#include "runtime/base/check.h"

namespace reigen::collective {

Layout::Layout(std::span<const BucketTensor> tensors, int parts, uint64_t segment_elements)
    : parts_(parts), segment_elements_(segment_elements) {
  REIGEN_CHECK(parts >= 1 && segment_elements >= 1);
  const auto count = static_cast<uint32_t>(parts);
  for (uint32_t q = 0; q < count; ++q) {
    Part& part = parts_[q];
    part.begin.reserve(tensors.size() + 1);
    part.first.reserve(tensors.size());
    uint64_t at = 0;
    for (const BucketTensor& tensor : tensors) {
      const auto turn = static_cast<uint32_t>(tensor.name_hash % count);
      const uint32_t chunk = (q + count - turn) % count;
      const uint64_t first = ChunkBegin(tensor.count, chunk, count);
      part.begin.push_back(at);
      part.first.push_back(first);
      at += ChunkBegin(tensor.count, chunk + 1, count) - first;
    }
    part.begin.push_back(at);
  }
}

uint64_t Layout::MaxSegments() const {
  uint64_t most = 0;
  for (uint32_t q = 0; q < parts_.size(); ++q) most = std::max(most, Segments(q));
  return most;
}

}  // namespace reigen::collective
