// From what a host has to what that means for jobs. Pure.
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_EXAMINE_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_EXAMINE_H_

#include <vector>

#include "client/cli/reigenctl/doctor/findings.h"
#include "runtime/probe/facts.h"

namespace reigen::ctl {

Report Examine(const probe::HostFacts& facts, const Wishes& wishes);

// Its parts; each adds findings of its area to the report. Network comes before RDMA,
// which prefers devices on the chosen networks, and that before GPUs, whose tensors go by
// the devices that links use.
void ExamineSystem(const probe::SystemFacts& facts, Report* report);
void ExamineNetwork(const probe::NetworkFacts& facts, const Wishes& wishes, Report* report);
void ExamineRdma(const probe::RdmaFacts& facts, const Wishes& wishes, Report* report);
void ExamineGpus(const probe::HostFacts& facts, const Wishes& wishes, Report* report);

// What only a look at several hosts shows.
std::vector<Finding> Compare(const std::vector<Report>& reports, const Wishes& wishes);

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_EXAMINE_H_
