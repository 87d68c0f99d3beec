// Runs the probes on this host.
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_GATHER_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_GATHER_H_

#include "runtime/probe/facts.h"

namespace reigen::ctl {

// Call it while the process has one thread: it forks, sets a variable of the
// environment, and starts CUDA last.
probe::HostFacts GatherFacts();

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_GATHER_H_
