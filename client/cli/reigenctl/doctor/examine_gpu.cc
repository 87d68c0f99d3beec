#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/reigenctl/doctor/examine.h"
#include "client/cli/reigenctl/doctor/phrases.h"
#include "runtime/gpudirect/distance.h"
#include "runtime/gpudirect/flush.h"
#include "runtime/gpudirect/mode.h"

namespace reigen::ctl {
namespace {

using gpudirect::Distance;
using probe::CudaFacts;
using probe::GpuFacts;
using probe::PciDevice;
using probe::RdmaDeviceFacts;

// What this version does with them, whatever would be possible.
constexpr char kUse[] =
    "CUDA tensors are reduced on the GPUs if libreigen has its kernels; between hosts they go by "
    "GPUDirect RDMA where that is possible, else through page-locked host memory";

Finding Gpu(Level level, const std::string& subject, const std::string& text,
            const std::string& remedy = "") {
  return {level, "gpu", subject, text, remedy};
}

// Why no GPU can be used.
Finding OfAbsence(const CudaFacts& cuda) {
  const bool kernel = !cuda.kernel_driver.empty();
  if (!cuda.library_error.empty() && kernel) {
    return Gpu(Level::kProblem, "driver",
               "the NVIDIA driver is loaded, and its library is not here: " + cuda.library_error,
               "in a container, start it with the GPUs (`--gpus all`, NVIDIA container toolkit); "
               "else the package with libcuda.so.1 of the same driver version");
  }
  if (!cuda.library_error.empty()) {
    return Gpu(Level::kNote, "driver",
               "there is no CUDA driver (" + cuda.library_error +
                   "): tensors lie in host memory");
  }
  if (!cuda.no_device) {
    return Gpu(Level::kProblem, "driver", "CUDA does not start: " + cuda.start_error,
               "`nvidia-smi` must work; after an upgrade of the driver the machine is to be "
               "restarted; in a container NVIDIA_DRIVER_CAPABILITIES needs compute");
  }
  if (cuda.visible_devices) {
    return Gpu(Level::kNote, "driver",
               "CUDA_VISIBLE_DEVICES=\"" + *cuda.visible_devices + "\" hides all GPUs");
  }
  return Gpu(Level::kNote, "driver", "there is a CUDA driver, and no GPU");
}

std::string Version(int version) {
  if (version <= 0) return "CUDA of an unknown version";
  return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Finding OfGpu(const GpuFacts& gpu, size_t count) {
  std::vector<std::string> parts = {gpu.name, Bytes(gpu.memory_bytes),
                                    "sm_" + std::to_string(gpu.capability_major) +
                                        std::to_string(gpu.capability_minor),
                                    gpu.bus_id,
                                    gpu.exports_dmabuf ? "exports dma-buf" : "exports no dma-buf"};
  if (count > 1) {
    std::vector<std::string> peers;
    for (int peer : gpu.peers) peers.push_back(std::to_string(peer));
    parts.push_back(peers.empty() ? "reaches no other GPU" : "reaches GPU " + Join(peers, " "));
  }
  return Gpu(Level::kOk, "GPU " + std::to_string(gpu.ordinal), Join(parts));
}

const PciDevice* Find(const std::vector<PciDevice>& devices, const std::string& bus_id) {
  for (const PciDevice& device : devices) {
    if (!bus_id.empty() && device.place.bus_id == bus_id) return &device;
  }
  return nullptr;
}

// `devices`: how many RDMA devices links use.
GpuPath PathOf(const GpuFacts& gpu, const RdmaDeviceFacts& nic, size_t devices,
               const std::vector<PciDevice>& pci) {
  GpuPath path;
  path.gpu = gpu.ordinal;
  path.rdma_device = nic.name;
  gpudirect::Pair pair;
  pair.gpu_exports_dmabuf = gpu.exports_dmabuf;
  pair.gpu_allows_rdma = gpu.allows_rdma;
  pair.nic_registers_dmabuf = nic.registers_dmabuf;
  const PciDevice* const from = Find(pci, gpu.bus_id);
  const PciDevice* const to = Find(pci, nic.bus_id);
  if (from != nullptr && to != nullptr) {
    pair.distance = DistanceOf(from->place, to->place);
    pair.iommu_translates = from->iommu_group_type.starts_with("DMA") ||
                            to->iommu_group_type.starts_with("DMA");
    pair.separate_groups = !from->iommu_group.empty() && from->iommu_group != to->iommu_group;
  }
  path.distance = pair.distance;
  path.verdict = ChooseMode(pair);
  path.flush = gpudirect::FlushOfScratch(
      gpu.capability_major, gpudirect::OrderingOf(gpu.writes_ordering), devices);
  return path;
}

bool Better(const GpuPath& a, const GpuPath& b) {
  return std::pair(a.verdict.mode, a.distance) < std::pair(b.verdict.mode, b.distance);
}

// What a job does, as its workers decide it: the nearest of the links' devices that can is
// taken, if all of them register the GPU's memory. `all`: of every device of the host.
GpuPath OfJob(const GpuFacts& gpu, const probe::HostFacts& facts, const std::vector<GpuPath>& all,
              const std::vector<std::string>& used) {
  std::vector<GpuPath> paths;
  const RdmaDeviceFacts* refuses = nullptr;
  for (RdmaDeviceFacts nic : facts.rdma.devices) {
    if (std::find(used.begin(), used.end(), nic.name) == used.end()) continue;
    nic.registers_dmabuf = true;  // asked of all of them below
    paths.push_back(PathOf(gpu, nic, used.size(), facts.pci));
  }
  for (const RdmaDeviceFacts& nic : facts.rdma.devices) {
    const bool in_use = std::find(used.begin(), used.end(), nic.name) != used.end();
    if (in_use && !nic.registers_dmabuf && refuses == nullptr) refuses = &nic;
  }
  GpuPath path = *std::min_element(paths.begin(), paths.end(), Better);
  if (path.verdict.mode == gpudirect::Mode::kDirect && refuses != nullptr) {
    path.verdict = {gpudirect::Mode::kStaged,
                    "the links use " + refuses->name + ", which registers no dma-buf",
                    gpudirect::kHowToRegisterDmabuf};
  }
  const auto other = std::min_element(all.begin(), all.end(), Better);
  if (path.verdict.mode != gpudirect::Mode::kDirect &&
      other->verdict.mode == gpudirect::Mode::kDirect) {
    path.verdict.remedy = "`--rdma-devices " + other->rdma_device +
                          "` (" + ToString(other->distance) +
                          ") has links use it alone";
  }
  return path;
}

Finding OfPath(const GpuPath& path) {
  const bool direct = path.verdict.mode == gpudirect::Mode::kDirect;
  std::string text = "nearest RDMA device of the links " + path.rdma_device + " (" + ToString(path.distance) +
                     "): GPUDirect RDMA is " + (direct ? "possible" : "not possible");
  if (!path.verdict.reason.empty()) text += (direct ? ", " : ": ") + path.verdict.reason;
  if (direct) {
    text += std::string("; what it writes ") +
            (path.flush.read_back ? "is read back: " : "is not read back: ") + path.flush.reason;
  }
  return Gpu(path.verdict.remedy.empty() ? Level::kOk : Level::kNote,
             "GPU " + std::to_string(path.gpu), text, path.verdict.remedy);
}

}  // namespace

void ExamineGpus(const probe::HostFacts& facts, Report* report) {
  const CudaFacts& cuda = facts.cuda;
  if (cuda.gpus.empty()) {
    report->findings.push_back(OfAbsence(cuda));
    return;
  }
  report->findings.push_back(
      Gpu(Level::kOk, "driver",
          Version(cuda.driver_version) +
              (cuda.kernel_driver.empty() ? "" : ", " + cuda.kernel_driver) + ": " + kUse));
  for (const GpuFacts& gpu : cuda.gpus) {
    report->findings.push_back(OfGpu(gpu, cuda.gpus.size()));
    std::vector<GpuPath> paths;
    const std::vector<std::string>& used = report->rdma_devices;
    for (const RdmaDeviceFacts& nic : facts.rdma.devices) {
      paths.push_back(PathOf(gpu, nic, used.size(), facts.pci));
    }
    if (paths.empty()) continue;
    report->findings.push_back(
        used.empty() ? Gpu(Level::kNote, "GPU " + std::to_string(gpu.ordinal),
                           "GPUDirect RDMA is not possible: links use TCP")
                     : OfPath(OfJob(gpu, facts, paths, used)));
    report->gpu_paths.insert(report->gpu_paths.end(), paths.begin(), paths.end());
  }
  if (!facts.pci_error.empty()) {
    report->findings.push_back(Gpu(Level::kNote, "PCIe",
                                   "how far GPUs and RDMA devices are is not known: " +
                                       facts.pci_error));
  }
}

}  // namespace reigen::ctl
