#include "runtime/probe/pci.h"

#include <hwloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <type_traits>
#include <utility>

#include "runtime/gpudirect/distance.h"
#include "runtime/probe/sysfs.h"

namespace reigen::probe {
namespace {

using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>,
                                 void (*)(hwloc_topology_t)>;

StatusOr<Topology> Load() {
  setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return ErrnoStatus(StatusCode::kUnavailable, "hwloc");
  Topology topology(made, &hwloc_topology_destroy);
  // Bridges too, and nodes that this process may not use: they are where devices are.
  hwloc_topology_set_io_types_filter(made, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_flags(made, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(made) != 0) return ErrnoStatus(StatusCode::kUnavailable, "hwloc");
  return topology;
}

std::string BusId(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", pci.domain, pci.bus, pci.dev, pci.func);
  return text;
}

std::string BridgeName(const hwloc_obj_attr_u::hwloc_bridge_attr_s& bridge) {
  if (bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI) return BusId(bridge.upstream.pci);
  char text[32];
  std::snprintf(text, sizeof text, "pci%04x:%02x", bridge.downstream.pci.domain,
                bridge.downstream.pci.secondary_bus);
  return text;
}

int NodeOf(hwloc_topology_t topology, hwloc_obj_t device) {
  const hwloc_obj_t cpus = hwloc_get_non_io_ancestor_obj(topology, device);
  // One node, or it is not known which.
  if (cpus == nullptr || cpus->nodeset == nullptr || hwloc_bitmap_weight(cpus->nodeset) != 1) {
    return -1;
  }
  return hwloc_bitmap_first(cpus->nodeset);
}

PciDevice Describe(hwloc_topology_t topology, hwloc_obj_t object) {
  PciDevice device;
  device.place.bus_id = BusId(object->attr->pcidev);
  for (hwloc_obj_t up = object->parent; up != nullptr; up = up->parent) {
    if (up->type == HWLOC_OBJ_BRIDGE) {
      device.place.bridges.push_back(BridgeName(up->attr->bridge));
    }
  }
  std::reverse(device.place.bridges.begin(), device.place.bridges.end());
  device.place.numa_node = NodeOf(topology, object);
  const std::string folder = "/sys/bus/pci/devices/" + device.place.bus_id;
  device.iommu_group = LinkName(folder + "/iommu_group");
  device.iommu_group_type = FirstLine(folder + "/iommu_group/type").value_or("");
  return device;
}

}  // namespace

StatusOr<std::vector<PciDevice>> ProbePci(const std::vector<std::string>& bus_ids) {
  std::vector<PciDevice> devices;
  std::set<std::string> wanted;
  for (const std::string& id : bus_ids) wanted.insert(gpudirect::NormalBusId(id));
  if (wanted.empty()) return devices;
  REIGEN_ASSIGN_OR_RETURN(const Topology topology, Load());
  for (hwloc_obj_t at = nullptr; (at = hwloc_get_next_pcidev(topology.get(), at)) != nullptr;) {
    if (wanted.erase(BusId(at->attr->pcidev)) > 0) {
      devices.push_back(Describe(topology.get(), at));
    }
  }
  return devices;
}

std::vector<std::string> GpuBusIds(const std::string& root) {
  const std::string base = root + "/sys/bus/pci/devices/";
  std::vector<std::string> ids;
  for (const std::string& id : Entries(base)) {
    // Display controllers, which data centre cards are too ("3D").
    if (FirstLine(base + id + "/vendor") == "0x10de" &&
        FirstLine(base + id + "/class").value_or("").starts_with("0x03")) {
      ids.push_back(id);
    }
  }
  return ids;
}

}  // namespace reigen::probe
