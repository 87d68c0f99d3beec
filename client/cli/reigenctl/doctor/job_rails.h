// What a job would take of RDMA on this host, by the job's own functions. Pure.
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_JOB_RAILS_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_JOB_RAILS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/reigenctl/doctor/findings.h"
#include "runtime/base/status.h"
#include "runtime/transport/rdma/choice.h"

namespace reigen::ctl {

// For some of the host's addresses, of which a job takes one: which, only the way to its
// coordinator shows.
struct JobRails {
  std::vector<std::string> addresses;  // "": the host has none
  StatusOr<transport::rdma::Choice> choice;
  size_t queues = 0;  // for data, of a link

  std::vector<std::string> ports() const;    // "mlx5_0:1 gid 3 10.0.0.1 (RoCE v2, MTU 4096)"
  std::vector<std::string> devices() const;  // each once
};

// In the order of the addresses; those for which the same comes out are together.
std::vector<JobRails> RailsOfJob(const std::vector<transport::rdma::Candidate>& candidates,
                                 const Wishes& wishes, const std::vector<std::string>& addresses);

// The devices that links could use alone, whatever the address, if they were asked for.
std::vector<std::string> UsableAlone(const std::vector<transport::rdma::Candidate>& candidates,
                                     const Wishes& wishes,
                                     const std::vector<std::string>& addresses);

// What a job of so many hosts locks here at most.
uint64_t LockedBytesOf(const JobRails& rails, const Wishes& wishes, size_t hosts);

// "if the job takes 10.0.0.1: ".
std::string If(const std::vector<std::string>& addresses);

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_JOB_RAILS_H_
