// Where a PCI device is, as the kernel's files say: of one device, at once, without hwloc
// (pci.h), which a daemon does without.
#ifndef REIGEN_RUNTIME_PROBE_PCI_PLACE_H_
#define REIGEN_RUNTIME_PROBE_PCI_PLACE_H_

#include <string>
#include <vector>

#include "runtime/probe/facts.h"

namespace reigen::probe {

// The names of bridges are those that ProbePci gives. Without the device (or with an empty
// `bus_id`): no bridges. `root` is "" for this machine's /sys.
PciDevice ReadPciDevice(const std::string& root, const std::string& bus_id);

// Of an RDMA device; empty: it is none on PCI.
std::string RdmaBusId(const std::string& root, const std::string& name);

// The RDMA devices that have an active port, sorted.
std::vector<std::string> ActiveRdmaDevices(const std::string& root);

}  // namespace reigen::probe

#endif  // REIGEN_RUNTIME_PROBE_PCI_PLACE_H_
