// What is started where: all decisions of the launcher before it starts anything.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_PLAN_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_PLAN_H_

#include <string>
#include <vector>

#include "client/cli/reigenrun/hosts.h"
#include "client/cli/reigenrun/local_host.h"
#include "client/cli/reigenrun/options.h"
#include "proto/launch/launch.pb.h"
#include "runtime/base/interfaces.h"
#include "runtime/base/status.h"

namespace reigen::run {

// What the launcher knows of the machine and the user's shell.
struct Surroundings {
  std::vector<InterfaceAddress> interfaces;
  ThisMachine machine;
  Resolve resolve;
  std::vector<std::string> environment;
  std::string working_directory;
  std::string worker_path;  // of reigen-worker on this machine
};

struct HostPlan {
  PlacedHost placed;
  bool local = false;
  std::vector<std::string> guard_words;  // executed here, starts the guard there
};

struct Plan {
  std::vector<HostPlan> hosts;
  int size = 0;
  bool loopback_only = false;  // all hosts are this machine
  std::vector<std::string> listen_addresses;  // of the coordinator
  std::string listen_reason;
  std::vector<std::string> networks;
  std::string program;  // of the trainers, absolute; empty: looked up on each host
  std::vector<std::string> command;
  std::vector<std::string> environment;
  std::string working_directory;
  launch::JobOptions job_options;
};

// Pure but for `around.resolve`. `hostfile_text` is the content of --hostfile, if
// one is given.
StatusOr<Plan> MakePlan(const Options& options, const std::string& hostfile_text,
                        const Surroundings& around);

// One line for each choice, for --verbose.
std::vector<std::string> Describe(const Plan& plan);

// Names that are this job's alone.
struct JobNames {
  std::string job;
  std::string secret;
  std::string coordinator_folder;
};

launch::CoordinatorStart MakeCoordinatorStart(const Plan& plan, const JobNames& names);
launch::GuardStart MakeGuardStart(const Plan& plan, const JobNames& names, int host,
                                  const std::vector<std::string>& coordinator_addresses);

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_PLAN_H_
