#include "client/cli/reigenctl/doctor/gather.h"

#include <string>
#include <utility>
#include <vector>

#include "client/cuda/inventory.h"
#include "client/cuda/load_driver.h"
#include "runtime/base/runtime_folder.h"
#include "runtime/base/status.h"
#include "runtime/probe/network.h"
#include "runtime/probe/pci.h"
#include "runtime/probe/rdma.h"
#include "runtime/probe/system.h"
#include "runtime/transport/rdma/real/real_verbs.h"

namespace reigen::ctl {
namespace {

// Places matter for pairs of GPU and RDMA device only.
void GatherPlaces(probe::HostFacts& facts) {
  std::vector<std::string> bus_ids = probe::GpuBusIds("");
  if (bus_ids.empty() || facts.rdma.devices.empty()) return;
  for (const probe::RdmaDeviceFacts& device : facts.rdma.devices) {
    if (!device.bus_id.empty()) bus_ids.push_back(device.bus_id);
  }
  StatusOr<std::vector<probe::PciDevice>> pci = probe::ProbePci(bus_ids);
  if (pci.ok()) {
    facts.pci = std::move(pci).value();
  } else {
    facts.pci_error = Message(pci.status());
  }
}

}  // namespace

probe::HostFacts GatherFacts() {
  probe::HostFacts facts;
  facts.system = probe::ProbeSystem(RuntimeBase(""));
  facts.network = probe::ProbeNetwork();
  facts.rdma = probe::ProbeRdma("", transport::rdma::MakeRealVerbs());
  GatherPlaces(facts);
  facts.cuda = sdk::cuda::ProbeCuda(sdk::cuda::kDriverLibrary, "");
  return facts;
}

}  // namespace reigen::ctl
