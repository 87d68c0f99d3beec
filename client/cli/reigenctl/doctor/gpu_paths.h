// How tensors get from a GPU to RDMA devices, and what a job does of that. Pure.
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_GPU_PATHS_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_GPU_PATHS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "client/cli/reigenctl/doctor/findings.h"
#include "runtime/probe/facts.h"

namespace reigen::ctl {

// What is possible between the two alone; `devices`: how many RDMA devices links use.
GpuPath PathOf(const probe::GpuFacts& gpu, const probe::RdmaDeviceFacts& nic, size_t devices,
               const std::vector<probe::PciDevice>& pci);

// What a job does whose links use these devices, as its workers decide it; the nearest of
// them. The remedy names others only if they are `usable`.
GpuPath PathOfJob(const probe::GpuFacts& gpu, const probe::HostFacts& facts,
                  const std::vector<std::string>& used, const std::vector<std::string>& usable);

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_GPU_PATHS_H_
