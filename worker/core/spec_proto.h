// Specs of requests in the control protocol.
#ifndef REIGEN_WORKER_CORE_SPEC_PROTO_H_
#define REIGEN_WORKER_CORE_SPEC_PROTO_H_

#include "proto/control/control.pb.h"
#include "worker/core/request.h"

namespace reigen::worker {

void FillSpec(const RequestSpec& spec, control::RequestSpec& out);

// Whether a plan's tensor is the one this host has.
bool SameTensor(const control::TensorSpec& planned, const TensorSpec& own);

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_CORE_SPEC_PROTO_H_
