// This user's running jobs whose coordinator is on this machine.
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_JOBS_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_JOBS_H_

#include <string>
#include <vector>

#include "proto/control/control.pb.h"

namespace reigen::ctl {

// By job name. What cannot be read, is not this user's, or belongs to a coordinator
// that is dead is left out.
std::vector<control::StatusFile> FindJobs(const std::string& base);

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_JOBS_H_
