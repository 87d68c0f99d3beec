// What a host is and has, as the probes of this folder found it: plain data, without
// a judgement. "Not there" is a value like any other.
#ifndef REIGEN_RUNTIME_PROBE_FACTS_H_
#define REIGEN_RUNTIME_PROBE_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/interfaces.h"
#include "runtime/gpudirect/distance.h"
#include "runtime/transport/rdma/verbs_types.h"

namespace reigen::probe {

// A folder that files must be made in.
struct FolderFacts {
  std::string path;
  std::string error;  // why no file can be made there; empty: one was
  uint64_t free_bytes = 0;
};

struct SystemFacts {
  std::string host_name;
  std::string kernel;        // "Linux 6.1.0-18-amd64 x86_64"
  FolderFacts runtime_folder;
  uint64_t open_files = 0;       // the limit, and what it may be raised to
  uint64_t open_files_most = 0;
  std::string memfd_error;         // empty: shared memory can be made
  std::string pidfd_error;         // empty: processes can be watched
  std::string read_child_error;    // empty: a child's memory can be read
  std::optional<int> ptrace_scope;  // Yama's; none: there is no Yama
};

struct InterfaceFacts {
  std::string name;
  std::string state;  // the kernel's operstate: "up", "down", "unknown"
  std::optional<int> mbits_per_s;
  int mtu_bytes = 0;
  std::string driver;  // "mlx5_core"; empty: none, as of a bridge
};

struct NetworkFacts {
  std::vector<InterfaceFacts> interfaces;
  std::vector<InterfaceAddress> addresses;  // of those that are up
  std::string error;
};

struct RdmaDeviceFacts {
  std::string name;         // "mlx5_0"
  std::string node;         // "/dev/infiniband/uverbs0"; empty: the kernel made none
  std::string node_error;   // why the node cannot be opened; empty: it can
  bool in_library = false;  // libibverbs knows it: its driver's part there is installed
  std::string open_error;   // why libibverbs cannot open or ask it; empty: it did
  std::string not_for_links;  // why nothing makes it fit for links; empty: it may be
  transport::rdma::DeviceInfo info;
  bool registers_dmabuf = false;
  std::vector<std::string> interfaces;  // network interfaces of its ports
  std::string bus_id;                   // PCI; empty: none, as of soft-RoCE
};

struct RdmaFacts {
  std::vector<RdmaDeviceFacts> devices;
  std::string list_error;  // libibverbs cannot say what there is
  uint64_t locked_bytes = 0;
  bool locked_unlimited = false;
};

struct GpuFacts {
  int ordinal = 0;
  std::string name;
  std::string bus_id;
  uint64_t memory_bytes = 0;
  int capability_major = 0;
  int capability_minor = 0;
  bool exports_dmabuf = false;
  bool allows_rdma = false;
  int writes_ordering = 0;  // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING
  std::vector<int> peers;  // whose memory it can reach, by ordinal
};

struct CudaFacts {
  std::string library_error;  // why there is no libcuda.so.1; empty: there is
  std::string start_error;    // why CUDA does not start; empty: it did
  bool no_device = false;     // that error says: there is no GPU
  int driver_version = 0;     // 12040: CUDA 12.4
  std::string kernel_driver;  // of /proc/driver/nvidia/version; empty: not loaded
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES
  std::vector<GpuFacts> gpus;
};

struct PciDevice {
  gpudirect::PciPlace place;
  std::string iommu_group;        // "17"; empty: none
  std::string iommu_group_type;   // "identity", "DMA", "DMA-FQ"
};

struct HostFacts {
  SystemFacts system;
  NetworkFacts network;
  RdmaFacts rdma;
  CudaFacts cuda;
  std::vector<PciDevice> pci;  // of RDMA devices and GPUs
  std::string pci_error;
};

}  // namespace reigen::probe

#endif  // REIGEN_RUNTIME_PROBE_FACTS_H_
