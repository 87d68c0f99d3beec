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
// environment, which `variable` looks up, then from the launcher's:
//   REIGEN_RDMA_DEVICES         as --rdma-devices
//   REIGEN_RDMA_GID_INDEX       as --rdma-gid-index
//   REIGEN_RDMA_PKEY            partition, 0x8001 or 32769
//   REIGEN_RDMA_MTU             path MTU, 256-4096, at most the port's
//   REIGEN_RDMA_SERVICE_LEVEL   0-15
//   REIGEN_RDMA_TRAFFIC_CLASS   0-255
//   REIGEN_RDMA_QUEUES          queue pairs for data of a link, 1-15
//   REIGEN_RDMA_RELAXED_ORDERING  0: writes into memory are never reordered
// Errors: a value that is none, named with its variable.
StatusOr<transport::rdma::RdmaOptions> MakeRdmaOptions(
    const launch::GuardStart& start,
    const std::function<std::optional<std::string>(const std::string&)>& variable);

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SERVE_RDMA_OPTIONS_H_
