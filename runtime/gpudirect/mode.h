// How a GPU's tensors can reach an RDMA device, and why not in a better way. Pure.
#ifndef REIGEN_RUNTIME_GPUDIRECT_MODE_H_
#define REIGEN_RUNTIME_GPUDIRECT_MODE_H_

#include <string>

#include "runtime/gpudirect/distance.h"

namespace reigen::gpudirect {

// From the best on.
enum class Mode {
  kDirect,  // the RDMA device reads and writes the GPU's memory (dma-buf)
  kStaged,  // through page-locked memory of the host, which the GPU reads and writes
};

const char* ToString(Mode mode);  // "GPUDirect RDMA"

// One GPU and one RDMA device.
struct Pair {
  bool gpu_exports_dmabuf = false;     // CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED
  bool gpu_allows_rdma = false;        // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED
  bool nic_registers_dmabuf = false;   // ibv_reg_dmabuf_mr is there, in kernel and library
  Distance distance = Distance::kUnknown;
  // The IOMMU translates what devices ask for (not `iommu=pt`).
  bool iommu_translates = false;
  // Each is in an IOMMU group of its own. Below one switch that means: ACS is on, and
  // sends what one writes to the other up to the root complex.
  bool separate_groups = false;
};

struct Verdict {
  Mode mode = Mode::kStaged;
  std::string reason;  // why this and no better one; empty: there is no better one
  std::string remedy;  // what would make it better; empty: nothing, or nothing to do
};

// Remedies: where the driver exports none, and where the RDMA device takes none.
inline constexpr char kHowToExportDmabuf[] =
    "the open kernel modules of the NVIDIA driver (R515 or later) on Linux 5.12 or later";
inline constexpr char kHowToRegisterDmabuf[] =
    "Linux 5.12 or later, rdma-core 34 or later and a device whose driver can (mlx5, irdma, efa)";

// The first row that fits counts:
//
//   the GPU cannot be reached by other devices       staged
//   the driver exports no dma-buf                    staged
//   the RDMA device registers no dma-buf             staged
//   distance: another root complex, or not known     staged: slower than by the host
//   the IOMMU translates                             staged: may be refused or be slow
//   same switch, ACS on                              direct, but by the root complex
//   same root complex                                direct, but not by a switch
//   same switch                                      direct
Verdict ChooseMode(const Pair& pair);

}  // namespace reigen::gpudirect

#endif  // REIGEN_RUNTIME_GPUDIRECT_MODE_H_
