// Modes of trainer_script whose tensors are on a (scripted) GPU.
#ifndef REIGEN_TESTS_WORKER_GPU_SCRIPT_H_
#define REIGEN_TESTS_WORKER_GPU_SCRIPT_H_

#include <string>

namespace reigen::worker {

// The exit code; -1: there is no such mode.
//   gpu_sum          sums; prints where they were made
//   gpu_twice        the same in two sessions, the second in a new epoch
//   gpu_mixed        rank 1's payloads are in host memory
//   gpu_closed       rank 1 cannot open the others' memory
//   gpu_unmapped     rank 1 cannot map the host scratch
//   gpu_dies         rank 1 is killed with commands out
//   gpu_nonsense     rank 1 answers a command that is not there
//   gpu_silent       rank 1 answers no command
int RunGpuMode(const std::string& mode, int rank, int size, const std::string& socket);

}  // namespace reigen::worker

#endif  // REIGEN_TESTS_WORKER_GPU_SCRIPT_H_
