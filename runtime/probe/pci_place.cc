#include "runtime/probe/pci_place.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "runtime/gpudirect/distance.h"
#include "runtime/probe/sysfs.h"

namespace reigen::probe {
namespace {

// "pci0000:00" or "0000:00:01.0".
bool IsPciName(const std::string& name) {
  return (name.starts_with("pci") && name.find(':') != std::string::npos) ||
         std::count(name.begin(), name.end(), ':') == 2;
}

}  // namespace

PciDevice ReadPciDevice(const std::string& root, const std::string& bus_id) {
  PciDevice device;
  if (bus_id.empty()) return device;
  device.place.bus_id = gpudirect::NormalBusId(bus_id);
  const std::string folder = root + "/sys/bus/pci/devices/" + device.place.bus_id;
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(folder, error);
  if (error) return device;
  for (const std::filesystem::path& part : path.parent_path()) {
    if (IsPciName(part.string())) device.place.bridges.push_back(part.string());
  }
  device.place.numa_node = FirstNumber(folder + "/numa_node").value_or(-1);
  device.iommu_group = LinkName(folder + "/iommu_group");
  device.iommu_group_type = FirstLine(folder + "/iommu_group/type").value_or("");
  return device;
}

std::string RdmaBusId(const std::string& root, const std::string& name) {
  const std::string bus_id = LinkName(root + "/sys/class/infiniband/" + name + "/device");
  if (std::count(bus_id.begin(), bus_id.end(), ':') != 2) return "";
  return gpudirect::NormalBusId(bus_id);
}

std::vector<std::string> ActiveRdmaDevices(const std::string& root) {
  std::vector<std::string> names;
  std::error_code error;
  using Folder = std::filesystem::directory_iterator;
  for (const auto& device : Folder(root + "/sys/class/infiniband", error)) {
    std::error_code no_ports;
    for (const auto& port : Folder(device.path() / "ports", no_ports)) {
      const std::string state = FirstLine(port.path().string() + "/state").value_or("");
      if (state.find("ACTIVE") == std::string::npos) continue;
      names.push_back(device.path().filename().string());
      break;
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace reigen::probe
