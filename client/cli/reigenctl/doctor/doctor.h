// `reigenctl doctor`: looks at this host, or at the hosts of a job to come.
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_DOCTOR_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_DOCTOR_H_

#include <string>
#include <vector>

#include "client/cli/reigenctl/doctor/findings.h"
#include "client/cli/reigenctl/doctor/remote.h"
#include "client/cli/reigenrun/local_host.h"
#include "runtime/base/status.h"
#include "runtime/transport/rdma/variables.h"

namespace reigen::ctl {

struct DoctorOptions {
  bool json = false;
  std::string hosts;     // as reigenrun's -H; both empty: this host
  std::string hostfile;
  int ssh_port = 0;
  std::string ssh_identity_file;
  std::string rsh;
  std::string reigenctl_path;  // on the other hosts; empty: as here
  double timeout_s = 30;
  // "NAME=VALUE": REIGEN_RDMA_* of where a job is started, which it takes along to hosts that
  // have none of that name. RunDoctor() adds its own.
  std::vector<std::string> launcher_variables;
  Wishes wishes;
};

// A host to look at: this one without a command, another by one.
struct Place {
  std::string host;
  Question question;  // no words: this host
};

// With what REIGEN_RDMA_* say on this host.
Wishes WithVariables(const Wishes& given, const transport::rdma::Lookup& lookup);

// The list as reigenrun reads it. Pure but for `resolve`.
StatusOr<std::vector<Place>> PlanPlaces(const DoctorOptions& options,
                                        const std::string& hostfile_text,
                                        const run::ThisMachine& machine,
                                        const run::Resolve& resolve,
                                        const std::string& own_path);

// Prints; the exit code: 0, 1 if anything is broken, 2 for a mistake in the options.
int RunDoctor(const DoctorOptions& given);

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_DOCTOR_H_
