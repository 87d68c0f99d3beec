// What this host's RDMA links are told. Pure.
#ifndef REIGEN_WORKER_SERVE_RDMA_OPTIONS_H_
#define REIGEN_WORKER_SERVE_RDMA_OPTIONS_H_

#include <functional>
#include <optional>
#include <string>

#include "proto/launch/launch.pb.h"
#include "runtime/base/status.h"
#include "runtime/transport/rdma/rdma_transport.h"

namespace reigen::worker {

// From the job's options, then (flags win) from variables of this host's own
// environment, which `variable` looks up, then from the launcher's: those of
// transport::rdma::ReadVariables().
// Errors: a value that is none, named with its variable.
StatusOr<transport::rdma::RdmaOptions> MakeRdmaOptions(
    const launch::GuardStart& start,
    const std::function<std::optional<std::string>(const std::string&)>& variable);

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SERVE_RDMA_OPTIONS_H_
