// The worker as the guard's child, with the read ends of all its pipes.
#ifndef REIGEN_WORKER_GUARD_SERVE_PROCESS_H_
#define REIGEN_WORKER_GUARD_SERVE_PROCESS_H_

#include <string>
#include <vector>

#include "proto/launch/launch.pb.h"
#include "runtime/base/child_process.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"

namespace reigen::worker {

struct ServeProcess {
  Child child;
  UniqueFd heartbeat;
  UniqueFd log;
  std::vector<UniqueFd> outputs;  // 2i: stdout of local rank i, 2i + 1: its stderr
};

// Starts `program serve --folder FOLDER` (serve_fds.h). All read ends are
// non-blocking.
StatusOr<ServeProcess> StartServe(const std::string& program, const launch::GuardStart& start,
                                  const std::string& folder);

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_GUARD_SERVE_PROCESS_H_
