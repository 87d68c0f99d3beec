#include "runtime/collective/local_run.h"

#include <algorithm>
#include <utility>

namespace reigen::collective {
namespace {

// Memory traffic of a block: long enough that handing it over does not count,
// short enough that a cancelled bucket ends within milliseconds.
constexpr uint64_t kBlockBytes = 1 << 20;
// The same of a leader's: a command's way there and back takes about as long as a GPU works
// on 32 MiB. Less than 1 MiB is not worth a second leader.
constexpr uint64_t kMostGpuBlockBytes = 32 << 20;
constexpr uint64_t kLeastGpuBlockBytes = 1 << 20;
// Of elements: blocks of one tensor begin at 256 bytes at least, as GPUs like it.
constexpr uint64_t kGpuBlockMultiple = 256;

// Blocks out at a time: keeps the executor's threads, or each leader, busy, no more.
constexpr size_t kBlocksOut = 16;
constexpr size_t kBlocksOutPerLeader = 3;

uint64_t GpuBlockElements(const Bucket& bucket, uint64_t element_bytes, uint64_t leaders) {
  uint64_t elements = 0;
  for (const BucketTensor& t : bucket.tensors) elements += t.count;
  const uint64_t share =
      std::clamp((elements / leaders + 1) * element_bytes, kLeastGpuBlockBytes, kMostGpuBlockBytes);
  return share / element_bytes / kGpuBlockMultiple * kGpuBlockMultiple + kGpuBlockMultiple;
}

uint64_t BlockElements(const Bucket& bucket, const RunContext& context) {
  size_t most = 1;  // ranks' tensors that an element stands in
  for (const BucketTensor& t : bucket.tensors) most = std::max(most, t.inputs.size() + t.outputs.size());
  const uint64_t element_bytes = most * ElementBytes(bucket.dtype);
  if (bucket.on_gpus) {
    return GpuBlockElements(bucket, element_bytes, static_cast<uint64_t>(context.gpus->leaders()));
  }
  return std::max<uint64_t>(1, kBlockBytes / element_bytes);
}

size_t MostOut(const Bucket& bucket, const RunContext& context) {
  return bucket.on_gpus ? kBlocksOutPerLeader * static_cast<size_t>(context.gpus->leaders()) : kBlocksOut;
}

}  // namespace

LocalRun::LocalRun(Bucket bucket, RunContext& context)
    : Run(std::move(bucket), context),
      layout_(this->bucket().tensors, /*parts=*/1, BlockElements(this->bucket(), context)),
      work_(MakeMemoryWork(this->bucket(), layout_, context)),
      most_out_(MostOut(this->bucket(), context)),
      blocks_(layout_.Segments(0)) {}

void LocalRun::Advance() {
  using Kind = SegmentTask::Kind;
  const bool broadcast = bucket().kind == CollectiveKind::kBroadcast;
  while (!failed() && next_ < blocks_ && work_out() < most_out_) {
    const uint64_t block = next_++;
    const SegmentTask task{.kind = broadcast ? Kind::kBroadcastInPlace : Kind::kReduceInPlace,
                           .id = {0, block}};
    Do(*work_, task, block, [this] { ++done_; });
  }
  if (done_ == blocks_) SetComplete();
}

}  // namespace reigen::collective
