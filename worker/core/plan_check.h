// From a plan of the coordinator to a bucket of this host.
#ifndef REIGEN_WORKER_CORE_PLAN_CHECK_H_
#define REIGEN_WORKER_CORE_PLAN_CHECK_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/control/control.pb.h"
#include "runtime/base/collective_id.h"
#include "runtime/base/status.h"
#include "runtime/collective/bucket.h"
#include "worker/core/request_table.h"

namespace reigen::worker {

// What a plan is checked against.
struct PlanContext {
  int host = 0;
  std::vector<int> ranks;  // of this host, in local order
  Epoch epoch = 0;
  uint64_t next_sequence = 0;
  uint64_t max_segment_bytes = 0;
  uint32_t max_channels = 0;
  std::map<int, int> host_of_rank;
};

struct CheckedPlan {
  collective::Bucket bucket;           // `done` is not set
  std::vector<InstancePtr> instances;  // one per tensor of the plan
  std::vector<uint32_t> tensors;       // index of that tensor in its request
  bool moves_nothing = false;          // a barrier, or no elements: done on receipt
};

// FailedPrecondition, naming the tensor, when the plan does not fit the requests that
// this host has announced. A request without tensors (a barrier) is planned as its
// tensor 0.
StatusOr<CheckedPlan> CheckPlan(const control::Plan& plan, const PlanContext& context,
                                const RequestTable& table);

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_CORE_PLAN_CHECK_H_
