// What a guard hands to `reigen-worker serve`: descriptors with fixed numbers, and
// on the command line `--folder DIR` (the host's folder: worker.sock goes there).
//
//  0  /dev/null        2  a pipe to the guard: log lines
//  1  the same as 2    3  start: one frame with launch.GuardStart
//  4  heartbeat: the worker writes a byte at least every 600 ms; the first one
//     says that it serves. EPIPE: the guard is dead: end the trainers, remove the
//     folder and exit. A worker that ends by itself says why: kCauseFollows and
//     the words, up to the next beat.
//  5 + 2i, 6 + 2i  stdout and stderr of local rank i, for the trainer to inherit
//
// Exit code: 0 = the coordinator ended the job (well or not) and no trainer is
// left; anything else counts as the loss of this host.
#ifndef REIGEN_WORKER_SPAWN_SERVE_FDS_H_
#define REIGEN_WORKER_SPAWN_SERVE_FDS_H_

#include <cstddef>

namespace reigen::worker {

inline constexpr int kStartFd = 3;
inline constexpr int kHeartbeatFd = 4;
inline constexpr char kCauseFollows = 1;  // beats are 0
inline constexpr size_t kMaxCauseBytes = 2048;  // fits into the pipe at once
constexpr int StdoutFd(int local_rank) { return 5 + 2 * local_rank; }
constexpr int StderrFd(int local_rank) { return 6 + 2 * local_rank; }
constexpr int ServeFdCount(int local_size) { return 5 + 2 * local_size; }

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SPAWN_SERVE_FDS_H_
