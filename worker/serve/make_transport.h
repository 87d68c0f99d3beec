// The transport of a job's links.
#ifndef REIGEN_WORKER_SERVE_MAKE_TRANSPORT_H_
#define REIGEN_WORKER_SERVE_MAKE_TRANSPORT_H_

#include <memory>
#include <string>

#include "proto/launch/launch.pb.h"
#include "runtime/base/status.h"
#include "runtime/transport/link.h"
#include "runtime/transport/select/auto_transport.h"

namespace reigen::worker {

// By the job's options: RDMA and TCP, or one of them, listening on `local_address`
// only. `without_rdma` is told why RDMA is not among them though it may be; it may be
// called until the first link is made.
// Errors: the address or the port range cannot be had; the transport that was asked for
// is not to be had here, with the reason.
StatusOr<std::unique_ptr<transport::Transport>> MakeTransport(
    const launch::GuardStart& start, const std::string& local_address,
    transport::WithoutRdmaFn without_rdma);

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SERVE_MAKE_TRANSPORT_H_
