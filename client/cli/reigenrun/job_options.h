// What the job's daemons are told, from the command line. Pure.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_JOB_OPTIONS_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_JOB_OPTIONS_H_

#include <string>

#include "client/cli/reigenrun/options.h"
#include "proto/launch/launch.pb.h"
#include "runtime/base/status.h"

namespace reigen::run {

// Value of REIGEN_TIMEOUT_SCALE: multiplies every time limit of the daemons and of
// the launcher (a slow machine, a sanitizer). Empty is 1.
StatusOr<double> ParseTimeoutScale(const std::string& text);

// --gpu-direct, else REIGEN_GPU_DIRECT, else auto.
StatusOr<std::string> ChooseGpuDirect(const std::string& flag, const std::string& variable);

launch::JobOptions MakeJobOptions(const Options& options, double timeout_scale);

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_JOB_OPTIONS_H_
