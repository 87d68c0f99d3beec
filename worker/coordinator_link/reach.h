// Which of the coordinator's addresses answers, and from which address of this host.
#ifndef REIGEN_WORKER_COORDINATOR_LINK_REACH_H_
#define REIGEN_WORKER_COORDINATOR_LINK_REACH_H_

#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace reigen::worker {

struct Reached {
  std::string coordinator;    // the entry of `coordinator_addresses` that answered
  std::string local_address;  // without port: links between hosts bind to it
  std::string reason;         // for people: which interface and why
};

struct ReachOptions {
  std::vector<std::string> coordinator_addresses;  // "ADDRESS:PORT", "[V6]:PORT"
  std::vector<std::string> networks;               // names or CIDRs; empty: any
  std::string host_name;
  Duration per_address = seconds(2);
  int stop_fd = -1;  // readable: give up
};

// Tries each address in turn by a TCP connection, from each address in `networks` if
// given, until one answers or `deadline` has passed; refused ones are tried again.
//
// Blocks: not on the loop's thread.
// Errors: networks that this host lacks: NotFound, naming host and network. Nothing
//         answers: DeadlineExceeded, with each address and its last error. Told to
//         give up: Aborted.
StatusOr<Reached> ReachCoordinator(const ReachOptions& options, Time deadline);

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_COORDINATOR_LINK_REACH_H_
