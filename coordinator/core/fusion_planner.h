// Requests that every rank has become buckets, each a plan.
//
//   ready order:  a b c d   (b is another dtype)   ->   plan 1: a c d,  plan 2: b
//
// One bucket takes tensors of the same collective, op, dtype, scales, device kind
// and class, up to the fusion threshold, looking ahead past tensors that do not
// fit in kind; buckets run in the order of their first tensors. Broadcasts and
// barriers are not fused. Tensors of a group may end up in several buckets; a
// tensor never does.
//
// Threads: as an int.
#ifndef REIGEN_COORDINATOR_CORE_FUSION_PLANNER_H_
#define REIGEN_COORDINATOR_CORE_FUSION_PLANNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/core/job_config.h"
#include "proto/control/control.pb.h"

namespace reigen::coordinator {

// Agreed by all ranks (CheckSupported).
struct AgreedRequest {
  uint32_t name_id = 0;  // 0: it has none
  std::string name = {};
  std::shared_ptr<const control::RequestSpec> spec = {};
};

class FusionPlanner {
 public:
  // Of one epoch. `hosts` in ring order; `size` = its ranks.
  FusionPlanner(const JobConfig& config, std::vector<int> hosts, int size);

  // Sequences grow by one per plan, from 1.
  std::vector<control::Plan> Plan(const std::vector<AgreedRequest>& requests);

  uint64_t plans() const { return next_sequence_ - 1; }
  uint64_t max_segment_bytes() const { return max_segment_bytes_; }
  uint32_t max_channels() const { return max_channels_; }

 private:
  struct Bucket;

  Bucket NewBucket(const control::RequestSpec& spec, const control::TensorSpec* tensor) const;
  control::Plan Finish(Bucket bucket);

  const uint64_t fusion_threshold_bytes_;
  const uint64_t small_max_bytes_;
  const uint64_t max_segment_bytes_;
  const uint32_t max_channels_;
  const WirePrecision wire_precision_;
  const std::vector<int> hosts_;
  const int size_;
  uint64_t next_sequence_ = 1;
};

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CORE_FUSION_PLANNER_H_
