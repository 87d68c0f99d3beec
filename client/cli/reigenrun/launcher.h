// Runs a job to its end: starts the coordinator and the guards, passes messages and
// output between them and the user, and ends all of it.
//
// Threads: one; the console is written by OutputRouter's.
// Errors:  whatever happens ends in one message and an exit code: JobWatch decides.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_LAUNCHER_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_LAUNCHER_H_

#include <memory>
#include <string>
#include <vector>

#include "client/cli/reigenrun/child_link.h"
#include "client/cli/reigenrun/job_watch.h"
#include "client/cli/reigenrun/output_lines.h"
#include "client/cli/reigenrun/output_router.h"
#include "client/cli/reigenrun/plan.h"
#include "proto/launch/launch.pb.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"

namespace reigen::run {

// SIGINT, SIGTERM and SIGHUP come by the descriptor that is returned; SIGPIPE is an
// error where it belongs. Before any thread is started: they inherit it.
UniqueFd BlockSignals();

class Launcher {
 public:
  struct Settings {
    std::string coordinator_path;
    bool verbose = false;
    double timeout_scale = 1;
  };

  // `signals` of BlockSignals(): any of them ends the job.
  Launcher(Plan plan, JobNames names, Settings settings, UniqueFd signals,
           std::unique_ptr<OutputRouter> router);

  // The exit code of the launcher.
  int Run();

 private:
  Status StartCoordinator();
  void StartGuard(int host);
  void Wait();
  void TakeSignals();
  void TakeFromCoordinator();
  void TakeFromHost(int host);
  void OnMessage(int host, const launch::FromGuard& message);
  void OnMessage(const launch::FromCoordinator& message);
  void Do(const Actions& actions);
  void TellCoordinator(const launch::ToCoordinator& message);
  bool Reading() const;
  void Say(const std::string& text);
  void Explain();
  void DrainOutput(bool interrupted);

  Plan plan_;
  JobNames names_;
  Settings settings_;
  std::unique_ptr<OutputRouter> router_;
  JobWatch watch_;
  UniqueFd signals_;
  std::unique_ptr<ChildLink> coordinator_;
  bool coordinator_closed_ = false;
  std::vector<std::unique_ptr<ChildLink>> guards_;
  std::vector<bool> guard_closed_;
  std::vector<Tail> host_logs_;  // of the daemons there
};

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_LAUNCHER_H_
