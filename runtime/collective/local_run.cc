#include "runtime/collective/local_run.h"

#include <algorithm>
#include <utility>

namespace reigen::collective {
namespace {

// Memory traffic of a block: long enough that handing it over does not count,
// short enough that a cancelled bucket ends within milliseconds.
constexpr uint64_t kBlockBytes = 1 << 20;
// Blocks given to the executor at a time: keeps its threads busy, no more.
constexpr size_t kBlocksOut = 16;

uint64_t BlockElements(const Bucket& bucket) {
  size_t most = 1;  // ranks' tensors that an element stands in
  for (const BucketTensor& t : bucket.tensors) most = std::max(most, t.inputs.size() + t.outputs.size());
  return std::max<uint64_t>(1, kBlockBytes / (most * ElementBytes(bucket.dtype)));
}

}  // namespace

LocalRun::LocalRun(Bucket bucket, RunContext& context)
    : Run(std::move(bucket), context),
      layout_(this->bucket().tensors, /*parts=*/1, BlockElements(this->bucket())),
      work_(this->bucket(), layout_),
      blocks_(layout_.Segments(0)) {}

void LocalRun::Advance() {
  while (!failed() && next_ < blocks_ && work_out() < kBlocksOut) {
    const SegmentId id{0, next_++};
    const bool broadcast = bucket().kind == CollectiveKind::kBroadcast;
    Do(
        work_.Traffic(id),
        [this, id, broadcast] { broadcast ? work_.BroadcastInPlace(id) : work_.ReduceInPlace(id); },
        [this] { ++done_; });
  }
  if (done_ == blocks_) SetComplete();
}

}  // namespace reigen::collective
