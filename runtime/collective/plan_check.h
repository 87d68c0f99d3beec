// Whether a bucket makes sense on this host, and what its numbers say.
#ifndef REIGEN_RUNTIME_COLLECTIVE_PLAN_CHECK_H_
#define REIGEN_RUNTIME_COLLECTIVE_PLAN_CHECK_H_

#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/collective/bucket.h"
#include "runtime/collective/gpus.h"
#include "runtime/collective/scratch.h"

namespace reigen::collective {

// Whether anything moves between hosts for it.
bool NeedsNetwork(const Bucket& bucket);

// Partial sums travel in another type than final values have.
bool TwoTypes(const Bucket& bucket);

// Elements of a segment between hosts.
uint64_t SegmentElements(const Bucket& bucket);

// FailedPrecondition, if not Ok: a plan between hosts whose numbers make no sense or whose
// segments do not fit its stream's window. And of a bucket on GPUs: this host has none that
// take commands; a tensor has more than Gpus::kMaxInputs inputs; no rank here contributes to
// a sum between hosts (no command makes neutral elements); a leader's window is missing or too
// small. Outputs may be any number.
Status CheckPlan(const Bucket& bucket, const Scratch& scratch, Gpus* gpus);

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_PLAN_CHECK_H_
