// Asks a running coordinator how its job is.
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_QUERY_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_QUERY_H_

#include "proto/control/control.pb.h"
#include "runtime/base/status.h"

namespace reigen::ctl {

// Each side proves the job's secret first. Tries the addresses in turn, a few
// seconds each.
StatusOr<control::JobStatus> QueryStatus(const control::StatusFile& job);

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_QUERY_H_
