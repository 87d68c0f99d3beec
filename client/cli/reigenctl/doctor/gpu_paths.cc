#include "client/cli/reigenctl/doctor/gpu_paths.h"

#include <algorithm>
#include <utility>

#include "client/cli/reigenctl/doctor/phrases.h"
#include "runtime/gpudirect/distance.h"
#include "runtime/gpudirect/flush.h"
#include "runtime/gpudirect/mode.h"
#include "runtime/gpudirect/scratch_choice.h"

namespace reigen::ctl {
namespace {

using gpudirect::NicFacts;
using probe::GpuFacts;
using probe::PciDevice;
using probe::RdmaDeviceFacts;

const PciDevice* Find(const std::vector<PciDevice>& devices, const std::string& bus_id) {
  for (const PciDevice& device : devices) {
    if (!bus_id.empty() && device.place.bus_id == bus_id) return &device;
  }
  return nullptr;
}

// As the GPU sees it.
NicFacts Seen(const GpuFacts& gpu, const RdmaDeviceFacts& nic,
              const std::vector<PciDevice>& pci) {
  NicFacts seen;
  seen.name = nic.name;
  const PciDevice* const from = Find(pci, gpu.bus_id);
  const PciDevice* const to = Find(pci, nic.bus_id);
  if (from == nullptr || to == nullptr) return seen;
  seen.distance = DistanceOf(from->place, to->place);
  seen.iommu_translates = from->iommu_group_type.starts_with("DMA") ||
                          to->iommu_group_type.starts_with("DMA");
  seen.separate_groups = !from->iommu_group.empty() && from->iommu_group != to->iommu_group;
  return seen;
}

// A trainer's scratch, as far as this GPU goes.
gpudirect::ScratchFacts ScratchOn(const GpuFacts& gpu) {
  gpudirect::ScratchFacts scratch;
  scratch.has_scratch = true;
  if (!gpu.exports_dmabuf) scratch.why_no_dmabuf = "the GPU's driver exports no dma-buf";
  scratch.allows_rdma = gpu.allows_rdma;
  scratch.capability_major = gpu.capability_major;
  scratch.writes_ordering = gpu.writes_ordering;
  return scratch;
}

// For links over a device that registers no dma-buf: those that do, and are near enough.
std::string RemedyWithOthers(const GpuFacts& gpu, const std::vector<NicFacts>& others) {
  gpudirect::ScratchFacts scratch = ScratchOn(gpu);
  scratch.nics = others;
  const gpudirect::ScratchChoice choice = ChooseScratch(scratch);
  if (!choice.direct) return gpudirect::kHowToRegisterDmabuf;
  return "`--rdma-devices " + Join(choice.near, ",") +
         "` has links use what registers them; else " + gpudirect::kHowToRegisterDmabuf;
}

}  // namespace

GpuPath PathOf(const GpuFacts& gpu, const RdmaDeviceFacts& nic, size_t devices,
               const std::vector<PciDevice>& pci) {
  const NicFacts seen = Seen(gpu, nic, pci);
  GpuPath path;
  path.gpu = gpu.ordinal;
  path.rdma_device = nic.name;
  path.distance = seen.distance;
  path.verdict = gpudirect::ChooseMode({.gpu_exports_dmabuf = gpu.exports_dmabuf,
                             .gpu_allows_rdma = gpu.allows_rdma,
                             .nic_registers_dmabuf = nic.registers_dmabuf,
                             .distance = seen.distance,
                             .iommu_translates = seen.iommu_translates,
                             .separate_groups = seen.separate_groups});
  path.flush = gpudirect::FlushOfScratch(
      gpu.capability_major, gpudirect::OrderingOf(gpu.writes_ordering), devices);
  return path;
}

GpuPath PathOfJob(const GpuFacts& gpu, const probe::HostFacts& facts,
                  const std::vector<std::string>& used, const std::vector<std::string>& usable) {
  gpudirect::ScratchFacts scratch = ScratchOn(gpu);
  std::vector<NicFacts> registering;  // that links could use
  std::vector<GpuPath> paths;         // of those that they use
  std::string refuses;
  for (const RdmaDeviceFacts& nic : facts.rdma.devices) {
    NicFacts seen = Seen(gpu, nic, facts.pci);
    const bool registers = nic.registers_dmabuf && Contains(usable, nic.name);
    if (registers) registering.push_back(seen);
    seen.used = Contains(used, nic.name);
    if (seen.used || registers) scratch.nics.push_back(seen);
    if (!seen.used) continue;
    paths.push_back(PathOf(gpu, nic, used.size(), facts.pci));
    if (!nic.registers_dmabuf && refuses.empty()) refuses = nic.name;
  }
  const gpudirect::ScratchChoice choice = ChooseScratch(scratch);
  const auto nearer = [](const GpuPath& a, const GpuPath& b) { return a.distance < b.distance; };
  GpuPath path = *std::min_element(paths.begin(), paths.end(), nearer);
  if (!choice.direct) {
    path.verdict = {gpudirect::Mode::kStaged, choice.reason, choice.remedy};
  } else if (!refuses.empty()) {
    // All of them register the memory.
    path.verdict = {gpudirect::Mode::kStaged,
                    "the links use " + refuses + ", which registers no dma-buf",
                    RemedyWithOthers(gpu, registering)};
  } else {
    path = *std::find_if(paths.begin(), paths.end(), [&](const GpuPath& each) {
      return each.rdma_device == choice.near.front();
    });
  }
  return path;
}

}  // namespace reigen::ctl
