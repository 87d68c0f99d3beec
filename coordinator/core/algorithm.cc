#include "coordinator/core/algorithm.h"

#include <algorithm>

namespace reigen::coordinator {
namespace {

// Below this a segment costs more in messages than it wins in overlap (TCP).
constexpr uint64_t kMinSegmentBytes = 256ull << 10;
// Segments that a step's part is cut into, if they are not too small for it.
constexpr uint64_t kSegmentsPerPart = 4;
constexpr uint64_t kSegmentGranuleBytes = 64;  // holds whole elements of any type
constexpr uint64_t kSmallestSegmentBytes = 4096;

uint64_t RoundUp(uint64_t value, uint64_t granule) {
  return (value + granule - 1) / granule * granule;
}

}  // namespace

TensorClass ClassOf(uint64_t bytes, int hosts, uint64_t small_max_bytes) {
  if (bytes == 0 || hosts <= 1) return TensorClass::kStill;
  return bytes <= small_max_bytes ? TensorClass::kSmall : TensorClass::kLarge;
}

Algorithm AlgorithmFor(CollectiveKind kind, TensorClass tensor_class) {
  if (kind == CollectiveKind::kBarrier || tensor_class == TensorClass::kStill) {
    return Algorithm::kNone;
  }
  const bool small = tensor_class == TensorClass::kSmall;
  if (kind == CollectiveKind::kBroadcast) {
    return small ? Algorithm::kTreeBroadcast : Algorithm::kChainBroadcast;
  }
  return small ? Algorithm::kRecursiveDoubling : Algorithm::kRing;
}

DataType WireType(CollectiveKind kind, ReduceOp op, DataType dtype, bool scaled,
                  WirePrecision precision) {
  if (kind != CollectiveKind::kAllreduce || !IsHalf(dtype)) return dtype;
  if (precision == WirePrecision::kFp32) return DataType::kFloat32;
  if (precision == WirePrecision::kTensor) return dtype;
  return op == ReduceOp::kAverage || scaled ? DataType::kFloat32 : dtype;
}

Lanes LanesFor(Algorithm algorithm, uint64_t wire_bytes, int hosts, uint64_t max_segment_bytes,
               uint32_t max_channels) {
  const uint64_t parts = algorithm == Algorithm::kRing ? static_cast<uint64_t>(hosts) : 1;
  const uint64_t part_bytes = wire_bytes / parts + 1;
  const uint64_t wanted =
      std::max(RoundUp(part_bytes / kSegmentsPerPart, kSegmentGranuleBytes), kMinSegmentBytes);
  Lanes lanes;
  lanes.segment_bytes = std::min(wanted, max_segment_bytes);
  const uint64_t segments = part_bytes / lanes.segment_bytes + 1;
  lanes.channels =
      static_cast<uint32_t>(std::min<uint64_t>(std::max<uint32_t>(max_channels, 1), segments));
  return lanes;
}

uint64_t UsableSegmentBytes(uint64_t configured) {
  return std::max(RoundUp(configured, kSegmentGranuleBytes), kSmallestSegmentBytes);
}

}  // namespace reigen::coordinator
