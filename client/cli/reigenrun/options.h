// reigenrun's command line.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_OPTIONS_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_OPTIONS_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace reigen::run {

struct Options {
  int np = 0;  // 0: as many as there are slots
  std::string hosts;
  std::string hostfile;

  int ssh_port = 0;
  std::string ssh_identity_file;
  std::string rsh;
  std::string worker_path;  // of reigen-worker on the other hosts; empty: as here
  std::vector<std::string> networks;
  std::string port_range;
  std::string transport = "auto";
  std::vector<std::string> rdma_devices;
  int rdma_gid_index = -1;

  double start_timeout_s = 30;
  double coordinator_timeout_s = 8;
  double stall_warning_s = 60;
  double stall_shutdown_s = 0;
  bool no_stall_check = false;

  double fusion_threshold_mb = 64;
  std::string wire_precision = "auto";
  std::string gpu_direct;  // empty: as REIGEN_GPU_DIRECT says
  std::string log_level = "warning";

  std::string output_folder;
  bool timestamps = false;
  bool verbose = false;
  bool check_build = false;

  std::vector<std::string> command;
};

struct Parsed {
  Options options;
  // Not empty: print this and exit with `exit_code` (help, version).
  std::string text;
  int exit_code = 0;
};

// A check of an option's value, as CLI11 wants them: an unset variable of the user's script
// must not turn into the default.
std::string IsNotEmpty(const std::string& text);

// Options end at the first word that is none, or at `--`; the rest is the command,
// as it is. Horovod's long names with one dash (-np, -cb, -hostfile,
// -prefix-timestamp) are understood. Errors are InvalidArgument.
StatusOr<Parsed> ParseOptions(const std::vector<std::string>& arguments);

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_OPTIONS_H_
