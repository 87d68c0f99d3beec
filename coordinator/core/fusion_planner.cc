#include "coordinator/core/fusion_planner.h"

#include <bit>
#include <map>
#include <tuple>

#include "coordinator/core/algorithm.h"
#include "coordinator/limits.h"

namespace reigen::coordinator {
namespace {

using control::RequestSpec;
using control::TensorSpec;

// What tensors of one bucket have in common.
using FusionKey = std::tuple<uint32_t /*op*/, uint32_t /*dtype*/, uint64_t /*prescale*/,
                             uint64_t /*postscale*/, uint32_t /*device kind*/, TensorClass>;

uint64_t BytesOf(const TensorSpec& tensor) {
  return tensor.count() * ElementBytes(static_cast<DataType>(tensor.dtype()));
}

}  // namespace

struct FusionPlanner::Bucket {
  control::Plan plan;
  TensorClass tensor_class = TensorClass::kStill;
  uint64_t elements = 0;
  uint64_t bytes = 0;
};

FusionPlanner::FusionPlanner(const JobConfig& config, std::vector<int> hosts, int size)
    : fusion_threshold_bytes_(config.fusion_threshold_bytes),
      small_max_bytes_(config.small_max_bytes),
      max_segment_bytes_(UsableSegmentBytes(config.segment_bytes)),
      max_channels_(std::max<uint32_t>(config.channels, 1)),
      wire_precision_(config.wire_precision),
      hosts_(std::move(hosts)),
      size_(size) {}

// All that is the same for the whole bucket. A barrier has no tensor.
FusionPlanner::Bucket FusionPlanner::NewBucket(const RequestSpec& spec,
                                               const TensorSpec* tensor) const {
  const auto kind = static_cast<CollectiveKind>(spec.kind());
  Bucket bucket;
  control::Plan& plan = bucket.plan;
  plan.set_kind(spec.kind());
  plan.set_prescale(1.0);
  plan.set_postscale(1.0);
  plan.set_divisor(1);
  for (int host : hosts_) plan.add_hosts(host);
  if (tensor != nullptr) {
    bucket.tensor_class =
        ClassOf(BytesOf(*tensor), static_cast<int>(hosts_.size()), small_max_bytes_);
    plan.set_dtype(tensor->dtype());
  }
  plan.set_algorithm(static_cast<uint32_t>(AlgorithmFor(kind, bucket.tensor_class)));
  plan.set_wire_dtype(plan.dtype());
  if (kind == CollectiveKind::kAllreduce) {
    const auto op = static_cast<ReduceOp>(spec.op());
    const bool scaled = spec.prescale() != 1.0 || spec.postscale() != 1.0;
    plan.set_op(spec.op());
    plan.set_prescale(spec.prescale());
    plan.set_postscale(spec.postscale());
    if (op == ReduceOp::kAverage) plan.set_divisor(static_cast<uint64_t>(size_));
    plan.set_wire_dtype(static_cast<uint32_t>(WireType(
        kind, op, static_cast<DataType>(plan.dtype()), scaled, wire_precision_)));
  } else if (kind == CollectiveKind::kBroadcast) {
    plan.set_root(spec.root());
  }
  return bucket;
}

control::Plan FusionPlanner::Finish(Bucket bucket) {
  control::Plan& plan = bucket.plan;
  plan.set_sequence(next_sequence_++);
  const uint64_t wire_bytes =
      bucket.elements * ElementBytes(static_cast<DataType>(plan.wire_dtype()));
  const Lanes lanes =
      LanesFor(static_cast<Algorithm>(plan.algorithm()), wire_bytes,
               static_cast<int>(hosts_.size()), max_segment_bytes_, max_channels_);
  plan.set_segment_bytes(lanes.segment_bytes);
  plan.set_channels(lanes.channels);
  return std::move(plan);
}

std::vector<control::Plan> FusionPlanner::Plan(const std::vector<AgreedRequest>& requests) {
  std::vector<Bucket> buckets;  // in the order of their first tensors
  std::map<FusionKey, size_t> open;
  for (const AgreedRequest& request : requests) {
    const RequestSpec& spec = *request.spec;
    const bool fused = spec.kind() == static_cast<uint32_t>(CollectiveKind::kAllreduce);
    const auto add = [&](size_t index, const TensorSpec* tensor, uint32_t number) {
      Bucket& bucket = buckets[index];
      control::PlanTensor& planned = *bucket.plan.add_tensors();
      if (request.name_id != 0) {
        planned.set_name_id(request.name_id);
      } else {
        planned.set_name(request.name);
      }
      planned.set_tensor(number);
      if (tensor == nullptr) return;
      *planned.mutable_spec() = *tensor;
      bucket.elements += tensor->count();
      bucket.bytes += BytesOf(*tensor);
    };
    if (spec.tensors_size() == 0) {
      buckets.push_back(NewBucket(spec, nullptr));
      add(buckets.size() - 1, nullptr, 0);
    }
    for (int i = 0; i < spec.tensors_size(); ++i) {
      const TensorSpec& tensor = spec.tensors(i);
      const FusionKey key(
          spec.op(), tensor.dtype(), std::bit_cast<uint64_t>(spec.prescale()),
          std::bit_cast<uint64_t>(spec.postscale()), spec.device_kind(),
          ClassOf(BytesOf(tensor), static_cast<int>(hosts_.size()), small_max_bytes_));
      auto it = open.find(key);
      const bool fits =
          fused && it != open.end() &&
          buckets[it->second].bytes + BytesOf(tensor) <= fusion_threshold_bytes_ &&
          static_cast<size_t>(buckets[it->second].plan.tensors_size()) < kMaxBucketTensors;
      size_t index = fits ? it->second : buckets.size();
      if (!fits) {
        buckets.push_back(NewBucket(spec, &tensor));
        if (fused) open[key] = index;
      }
      add(index, &tensor, static_cast<uint32_t>(i));
    }
  }
  std::vector<control::Plan> plans;
  plans.reserve(buckets.size());
  for (Bucket& bucket : buckets) plans.push_back(Finish(std::move(bucket)));
  return plans;
}

}  // namespace reigen::coordinator
