// What a trainer is started with: pure, from the launcher's message.
#ifndef REIGEN_WORKER_SPAWN_TRAINER_SPEC_H_
#define REIGEN_WORKER_SPAWN_TRAINER_SPEC_H_

#include <string>
#include <vector>

#include "proto/launch/launch.pb.h"
#include "runtime/base/status.h"

namespace reigen::worker {

// InvalidArgument if the message cannot be of a launcher of ours: its counts do
// not fit each other.
Status CheckGuardStart(const launch::GuardStart& start);

// "NAME=value": the launcher's environment as it is, with what says which rank the
// trainer is set over it (also by Horovod's names).
std::vector<std::string> TrainerEnvironment(const launch::GuardStart& start, int local_rank,
                                            const std::string& socket_path);

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SPAWN_TRAINER_SPEC_H_
