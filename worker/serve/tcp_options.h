// What this host's TCP links are told. Pure.
#ifndef REIGEN_WORKER_SERVE_TCP_OPTIONS_H_
#define REIGEN_WORKER_SERVE_TCP_OPTIONS_H_

#include <string>

#include "proto/launch/launch.pb.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/transport/tcp/socket.h"
#include "runtime/transport/tcp/tcp_transport.h"

namespace reigen::worker {

// InvalidArgument: a port range that is none.
StatusOr<transport::TcpOptions> MakeTcpOptions(const launch::GuardStart& start,
                                               const std::string& local_address);

// "FIRST-LAST", or empty for any port.
StatusOr<transport::PortRange> ParsePorts(const std::string& text);

// A time that has no field in the job's options, by the job's timeout scale.
Duration Scaled(Duration time, const launch::JobOptions& job);

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SERVE_TCP_OPTIONS_H_
