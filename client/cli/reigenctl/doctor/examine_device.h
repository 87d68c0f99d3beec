// One RDMA device and its ports. Pure.
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_EXAMINE_DEVICE_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_EXAMINE_DEVICE_H_

#include <vector>

#include "client/cli/reigenctl/doctor/findings.h"
#include "runtime/probe/facts.h"
#include "runtime/transport/rdma/choice.h"
#include "runtime/transport/rdma/verbs_types.h"

namespace reigen::ctl {

// What keeps the whole device from being used; no text: nothing.
Finding OfDevice(const probe::RdmaDeviceFacts& device);

// `used`: links take it.
Finding OfPort(const probe::RdmaDeviceFacts& device, const transport::rdma::PortInfo& port,
               bool used);

// The devices as a job sees them.
std::vector<transport::rdma::Candidate> Candidates(const probe::RdmaFacts& facts);

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_EXAMINE_DEVICE_H_
