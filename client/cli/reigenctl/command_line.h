// reigenctl's command line.
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_COMMAND_LINE_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "client/cli/reigenctl/doctor/doctor.h"
#include "runtime/base/status.h"

namespace reigen::ctl {

struct StatusOptions {
  bool json = false;
  std::string job;  // empty: all of the user's
};

struct CommandLine {
  // Not empty: print this and exit with 0 (help, version).
  std::string text;
  bool is_doctor = false;  // else status
  StatusOptions status;
  DoctorOptions doctor;
};

// `gpu_direct_variable`: what REIGEN_GPU_DIRECT says, which counts for doctor without
// --gpu-direct. Errors are InvalidArgument, in one line.
StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                       const std::string& gpu_direct_variable);

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_COMMAND_LINE_H_
