#include "runtime/gpudirect/mode.h"

namespace reigen::gpudirect {

const char* ToString(Mode mode) {
  return mode == Mode::kDirect ? "GPUDirect RDMA" : "staged through host memory";
}

Verdict ChooseMode(const Pair& pair) {
  if (!pair.gpu_allows_rdma) {
    return {Mode::kStaged, "this GPU's memory cannot be reached by other devices", ""};
  }
  if (!pair.gpu_exports_dmabuf) {
    return {Mode::kStaged, "the GPU's driver exports no dma-buf", kHowToExportDmabuf};
  }
  if (!pair.nic_registers_dmabuf) {
    return {Mode::kStaged, "the RDMA device registers no dma-buf", kHowToRegisterDmabuf};
  }
  switch (pair.distance) {
    case Distance::kSameNode:
    case Distance::kAcrossNodes:
      return {Mode::kStaged,
              std::string("they are of different root complexes (") + ToString(pair.distance) +
                  "), where page-locked memory of the host is faster",
              "an RDMA device in a slot of the GPU's switch or root complex"};
    case Distance::kUnknown:
      return {Mode::kStaged, "it is not known how far they are from each other",
              "both must be PCI devices that /sys shows; a virtual machine needs both passed "
              "through below one PCIe switch or root port"};
    case Distance::kSameSwitch:
    case Distance::kSameRootComplex:
      break;
  }
  if (pair.iommu_translates) {
    return {Mode::kStaged, "the IOMMU translates what devices read and write of each other",
            "iommu=pt on the kernel's command line (or the IOMMU off in the firmware)"};
  }
  if (pair.distance == Distance::kSameRootComplex) {
    return {Mode::kDirect, "by the root complex: no switch has both", ""};
  }
  if (pair.separate_groups) {
    return {Mode::kDirect, "by the root complex: ACS forbids the way through the switch",
            "ACS off in the firmware, or by setpci for the bridges between them (not in virtual "
            "machines, which ACS keeps apart)"};
  }
  return {Mode::kDirect, "", ""};
}

}  // namespace reigen::gpudirect
