// Probes where PCI devices are, by hwloc.
#ifndef REIGEN_RUNTIME_PROBE_PCI_H_
#define REIGEN_RUNTIME_PROBE_PCI_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/probe/facts.h"

namespace reigen::probe {

// Those of `bus_ids` that there are, each once. Takes tens of milliseconds. Sets
// HWLOC_PLUGINS_PATH in the environment, so that hwloc opens none of the machine's
// plugins (of whatever version, some start CUDA): no other thread may read it meanwhile;
// so call it before CUDA starts.
StatusOr<std::vector<PciDevice>> ProbePci(const std::vector<std::string>& bus_ids);

// Bus ids of NVIDIA's GPUs; `root` is "" for this machine's /sys.
std::vector<std::string> GpuBusIds(const std::string& root);

}  // namespace reigen::probe

#endif  // REIGEN_RUNTIME_PROBE_PCI_H_
