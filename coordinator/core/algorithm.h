// How a bucket travels: pure choices, the same for the same bucket. What decides
// about bits (class, wire type) depends on tensor, hosts and configuration only
// (R2, R3); what does not (segment size, channels) may look at the whole bucket.
#ifndef REIGEN_COORDINATOR_CORE_ALGORITHM_H_
#define REIGEN_COORDINATOR_CORE_ALGORITHM_H_

#include <cstdint>

#include "coordinator/core/job_config.h"
#include "runtime/base/collective_id.h"
#include "runtime/base/dtype.h"

namespace reigen::coordinator {

// Tensors of different classes never share a bucket.
enum class TensorClass : uint8_t {
  kStill,  // nothing moves: no bytes, or one host
  kSmall,  // latency counts: whole vectors, a tree
  kLarge,  // bandwidth counts: a chain per chunk
};

// `bytes` in the tensor's own type.
TensorClass ClassOf(uint64_t bytes, int hosts, uint64_t small_max_bytes);

Algorithm AlgorithmFor(CollectiveKind kind, TensorClass tensor_class);

// The type of partial sums. A half that is averaged or scaled may leave its range
// on the way (60000 + 60000, halved), so it travels as float32.
DataType WireType(CollectiveKind kind, ReduceOp op, DataType dtype, bool scaled,
                  WirePrecision precision);

struct Lanes {
  uint64_t segment_bytes = 0;
  uint32_t channels = 1;
};
// Segments: several in each part that a step moves, so that they overlap; none so
// small that its cost is the message, none above max_segment_bytes; multiples of 64.
Lanes LanesFor(Algorithm algorithm, uint64_t wire_bytes, int hosts, uint64_t max_segment_bytes,
               uint32_t max_channels);

// What a configured segment size becomes: a multiple of 64, at least 4096.
uint64_t UsableSegmentBytes(uint64_t configured);

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CORE_ALGORITHM_H_
