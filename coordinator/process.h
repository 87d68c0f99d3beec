// The process around a Coordinator: its folder, its pipes to the launcher, its end.
//
//   stdin --CoordinatorStart, HostLost, Interrupt; end = the launcher is dead
//   stdout <-- Listening, EpochBegun, Notice, Verdict, Alive
//
// Threads: the calling one owns everything; gRPC and the log have their own.
// Errors:  what keeps it from starting is a Verdict for the launcher, too.
#ifndef REIGEN_COORDINATOR_PROCESS_H_
#define REIGEN_COORDINATOR_PROCESS_H_

namespace reigen::coordinator {

// Runs one job to its end; returns the exit code. Requires: no other thread yet.
int RunProcess(int in_fd, int out_fd);

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_PROCESS_H_
