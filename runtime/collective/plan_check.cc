#include "runtime/collective/plan_check.h"

#include <algorithm>
#include <limits>
#include <string>

namespace reigen::collective {
namespace {

Status Wrong(const std::string& what) { return FailedPrecondition("plan: " + what); }

Status CheckNumbers(const Bucket& bucket) {
  const int hosts = static_cast<int>(bucket.hosts.size());
  if (bucket.self < 0 || bucket.self >= hosts) return Wrong("this host is none of its hosts");
  if (bucket.root < 0 || bucket.root >= hosts) return Wrong("the root is none of its hosts");
  const bool broadcast = bucket.algorithm == Algorithm::kChainBroadcast ||
                         bucket.algorithm == Algorithm::kTreeBroadcast;
  if (broadcast != (bucket.kind == CollectiveKind::kBroadcast)) {
    return Wrong("its algorithm is of another kind of collective");
  }
  if (bucket.channels < 1) return Wrong("no channel");
  if (SegmentElements(bucket) < 1) return Wrong("a segment holds no element");
  uint64_t elements = 0;
  for (const BucketTensor& tensor : bucket.tensors) elements += tensor.count;
  if (elements / SegmentElements(bucket) >= std::numeric_limits<uint32_t>::max()) {
    return Wrong("too many segments");
  }
  return OkStatus();
}

Status CheckWindow(const Bucket& bucket, const Scratch& scratch) {
  const size_t window_bytes = scratch.WindowBytes(bucket.id.stream);
  if (2 * (Scratch::Rounded(bucket.segment_bytes) + Scratch::kAlign) <= window_bytes) return OkStatus();
  return Wrong("segments of " + std::to_string(bucket.segment_bytes) +
               " bytes; the scratch window of stream " + std::to_string(bucket.id.stream) + " has " +
               std::to_string(window_bytes));
}

Status CheckForGpus(const Bucket& bucket, bool between_hosts, Gpus* gpus) {
  if (gpus == nullptr || gpus->leaders() < 1) return Wrong("on GPUs, but none here takes commands");
  const bool sums = between_hosts && bucket.kind == CollectiveKind::kAllreduce;
  for (const BucketTensor& tensor : bucket.tensors) {
    if (tensor.inputs.size() > Gpus::kMaxInputs) {
      return Wrong("on GPUs, which add up to " + std::to_string(Gpus::kMaxInputs) + " tensors, not " +
                   std::to_string(tensor.inputs.size()));
    }
    if (sums && tensor.count > 0 && tensor.inputs.empty()) {
      return Wrong("on GPUs, but no rank here contributes");
    }
  }
  return OkStatus();
}

}  // namespace

bool NeedsNetwork(const Bucket& bucket) {
  if (bucket.algorithm == Algorithm::kNone || bucket.hosts.size() <= 1) return false;
  return std::any_of(bucket.tensors.begin(), bucket.tensors.end(),
                     [](const BucketTensor& tensor) { return tensor.count > 0; });
}

bool TwoTypes(const Bucket& bucket) {
  return bucket.kind == CollectiveKind::kAllreduce && bucket.wire != bucket.dtype;
}

// Where partial sums have another type, they and the final values lie side by side.
uint64_t SegmentElements(const Bucket& bucket) {
  constexpr uint64_t kMultiple = 64;  // so that segments begin where vectors of elements do
  const uint64_t elements =
      bucket.segment_bytes /
      (ElementBytes(bucket.dtype) + (TwoTypes(bucket) ? ElementBytes(bucket.wire) : 0));
  return elements < kMultiple ? elements : elements / kMultiple * kMultiple;
}

Status CheckPlan(const Bucket& bucket, const Scratch& scratch, Gpus* gpus) {
  const bool between_hosts = NeedsNetwork(bucket);
  if (between_hosts) REIGEN_RETURN_IF_ERROR(CheckNumbers(bucket));
  if (!bucket.on_gpus) return between_hosts ? CheckWindow(bucket, scratch) : OkStatus();
  REIGEN_RETURN_IF_ERROR(CheckForGpus(bucket, between_hosts, gpus));
  for (int leader = 0; between_hosts && leader < gpus->leaders(); ++leader) {
    REIGEN_RETURN_IF_ERROR(CheckWindow(bucket, gpus->scratch(leader)));
  }
  return OkStatus();
}

}  // namespace reigen::collective
