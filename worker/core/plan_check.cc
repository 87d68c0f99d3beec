#include "worker/core/plan_check.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/base/dtype.h"
#include "runtime/base/hash.h"
#include "worker/core/spec_proto.h"

namespace reigen::worker {
namespace {

// Sets the bucket's fields that do not depend on tensors.
Status CheckHead(const control::Plan& plan, const PlanContext& context,
                 collective::Bucket& bucket) {
  if (plan.sequence() < context.next_sequence) return FailedPrecondition("its sequence was used");
  if (plan.kind() > static_cast<uint32_t>(CollectiveKind::kBarrier)) {
    return FailedPrecondition("unknown kind " + std::to_string(plan.kind()));
  }
  bucket.id = {.epoch = context.epoch, .sequence = plan.sequence(), .stream = plan.stream()};
  bucket.kind = static_cast<CollectiveKind>(plan.kind());
  if (plan.algorithm() > static_cast<uint32_t>(Algorithm::kTreeBroadcast)) {
    return FailedPrecondition("unknown algorithm " + std::to_string(plan.algorithm()));
  }
  bucket.algorithm = static_cast<Algorithm>(plan.algorithm());
  if (plan.op() > 255 || !IsValidReduceOp(static_cast<uint8_t>(plan.op())) ||
      plan.dtype() > 255 || !IsValidDataType(static_cast<uint8_t>(plan.dtype())) ||
      plan.wire_dtype() > 255 || !IsValidDataType(static_cast<uint8_t>(plan.wire_dtype()))) {
    return FailedPrecondition("unknown op or dtype");
  }
  bucket.op = static_cast<ReduceOp>(plan.op());
  bucket.dtype = static_cast<DataType>(plan.dtype());
  bucket.wire = static_cast<DataType>(plan.wire_dtype());
  const bool wire_fits = bucket.wire == bucket.dtype ||
                         (IsHalf(bucket.dtype) && bucket.wire == DataType::kFloat32);
  if (!wire_fits) return FailedPrecondition("the wire type does not fit the dtype");
  bucket.prescale = plan.prescale();
  bucket.postscale = plan.postscale();
  bucket.divisor = plan.divisor();
  if (bucket.divisor == 0) return FailedPrecondition("a divisor of 0");
  return OkStatus();
}

// Hosts, root, segments.
Status CheckRoute(const control::Plan& plan, const PlanContext& context,
                  collective::Bucket& bucket) {
  bucket.hosts.assign(plan.hosts().begin(), plan.hosts().end());
  const auto self = std::find(bucket.hosts.begin(), bucket.hosts.end(), context.host);
  if (self == bucket.hosts.end()) return FailedPrecondition("this host is not in its ring");
  bucket.self = static_cast<int>(self - bucket.hosts.begin());
  if (std::set<int>(bucket.hosts.begin(), bucket.hosts.end()).size() != bucket.hosts.size()) {
    return FailedPrecondition("a host is twice in its ring");
  }
  if (bucket.kind == CollectiveKind::kBroadcast) {
    const auto of = context.host_of_rank.find(plan.root());
    const auto root = of == context.host_of_rank.end()
                          ? bucket.hosts.end()
                          : std::find(bucket.hosts.begin(), bucket.hosts.end(), of->second);
    if (root == bucket.hosts.end()) return FailedPrecondition("its root is not in its ring");
    bucket.root = static_cast<int>(root - bucket.hosts.begin());
  }
  bucket.segment_bytes = plan.segment_bytes();
  bucket.channels = static_cast<int>(std::min<uint32_t>(plan.channels(), context.max_channels));
  if (bucket.algorithm == Algorithm::kNone) return OkStatus();
  const bool reduces = bucket.algorithm == Algorithm::kRing ||
                       bucket.algorithm == Algorithm::kRecursiveDoubling;
  if (bucket.hosts.size() < 2 || reduces != (bucket.kind == CollectiveKind::kAllreduce)) {
    return FailedPrecondition("its algorithm does not fit its kind or its hosts");
  }
  if (plan.channels() == 0 || plan.channels() > context.max_channels ||
      plan.segment_bytes() == 0 || plan.segment_bytes() > context.max_segment_bytes) {
    return FailedPrecondition("its segments or channels are over the epoch's limits");
  }
  return OkStatus();
}

// Whether the plan does what the request asks for.
bool SameOperation(const control::Plan& plan, const RequestSpec& spec) {
  if (plan.kind() != static_cast<uint32_t>(spec.kind)) return false;
  switch (spec.kind) {
    case CollectiveKind::kAllreduce:
      return plan.op() == static_cast<uint32_t>(spec.op) && plan.prescale() == spec.prescale &&
             plan.postscale() == spec.postscale;
    case CollectiveKind::kBroadcast:
      return plan.root() == spec.root;
    case CollectiveKind::kBarrier:
      return true;
  }
  return false;
}

// The request that a tensor of the plan belongs to, announced by this host.
StatusOr<InstancePtr> FindInstance(const control::Plan& plan, const control::PlanTensor& tensor,
                                   const RequestTable& table) {
  const std::string* name = &tensor.name();
  if (tensor.name_id() != 0) {
    name = table.NameOf(tensor.name_id());
    if (name == nullptr) {
      return FailedPrecondition("unknown name id " + std::to_string(tensor.name_id()));
    }
  }
  InstancePtr instance = table.Find(plan.process_set(), *name);
  if (instance == nullptr) {
    return FailedPrecondition("this host has announced no request " + *name);
  }
  for (const auto& request : instance->requests) {
    if (request.has_value() && *request->spec != instance->spec()) {
      return FailedPrecondition("this host's ranks disagree on " + *name);
    }
  }
  return instance;
}

collective::BucketTensor MakeTensor(const control::Plan& plan, const PlanContext& context,
                                    const Instance& instance, uint32_t index) {
  const TensorSpec& spec = instance.spec().tensors[index];
  collective::BucketTensor out;
  out.count = spec.count;
  out.name_hash = NameHash(spec.name);
  const bool broadcast = instance.spec().kind == CollectiveKind::kBroadcast;
  for (size_t local = 0; local < instance.requests.size(); ++local) {
    if (!instance.requests[local].has_value()) continue;
    std::byte* data = instance.requests[local]->data[index];
    const int rank = context.ranks[local];
    const bool gives =
        broadcast ? rank == plan.root()
                  : plan.contributors().empty() ||
                        std::find(plan.contributors().begin(), plan.contributors().end(),
                                  rank) != plan.contributors().end();
    if (gives) out.inputs.push_back(data);
    if (!broadcast || !gives) out.outputs.push_back(data);  // the root has it already
  }
  return out;
}

}  // namespace

StatusOr<CheckedPlan> CheckPlan(const control::Plan& plan, const PlanContext& context,
                                const RequestTable& table) {
  CheckedPlan out;
  REIGEN_RETURN_IF_ERROR(CheckHead(plan, context, out.bucket));
  REIGEN_RETURN_IF_ERROR(CheckRoute(plan, context, out.bucket));
  if (plan.tensors().empty()) return FailedPrecondition("it has no tensors");
  std::set<std::pair<const Instance*, uint32_t>> seen;
  uint64_t elements = 0;
  for (const control::PlanTensor& tensor : plan.tensors()) {
    REIGEN_ASSIGN_OR_RETURN(InstancePtr instance, FindInstance(plan, tensor, table));
    const RequestSpec& spec = instance->spec();
    const uint32_t index = tensor.tensor();
    const bool again = !seen.emplace(instance.get(), index).second ||
                       (index < instance->planned.size() && instance->planned[index]);
    if (again) return FailedPrecondition(instance->name + " is planned twice");
    if (!SameOperation(plan, spec)) {
      return FailedPrecondition(instance->name + " asks for another operation");
    }
    if (spec.tensors.empty()) {
      if (index != 0) return FailedPrecondition(instance->name + " has no tensors");
    } else {
      if (index >= spec.tensors.size() || !SameTensor(tensor.spec(), spec.tensors[index]) ||
          plan.dtype() != static_cast<uint32_t>(spec.tensors[index].dtype)) {
        return FailedPrecondition("its tensor " + tensor.spec().name() + " of " +
                                  instance->name + " is another one here");
      }
      elements += spec.tensors[index].count;
      out.bucket.tensors.push_back(MakeTensor(plan, context, *instance, index));
    }
    out.instances.push_back(std::move(instance));
    out.tensors.push_back(index);
  }
  out.moves_nothing = elements == 0;
  if (!out.moves_nothing && out.bucket.algorithm == Algorithm::kNone &&
      out.bucket.hosts.size() > 1) {
    return FailedPrecondition("it names no algorithm between hosts");
  }
  return out;
}

}  // namespace reigen::worker
