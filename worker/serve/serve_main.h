// `reigen-worker serve --folder FOLDER`, started by the guard (spawn/serve_fds.h).
#ifndef REIGEN_WORKER_SERVE_SERVE_MAIN_H_
#define REIGEN_WORKER_SERVE_SERVE_MAIN_H_

#include <string>

namespace reigen::worker {

// Runs to the end of the job; the exit code (serve_fds.h). Called once, from main,
// on the main thread, which starts the trainers and never ends.
int ServeMain(const std::string& folder);

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SERVE_SERVE_MAIN_H_
