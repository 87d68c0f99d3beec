#include "client/cli/reigenctl/doctor/facts_json.h"

#include <optional>
#include <string>

namespace reigen::ctl {
namespace {

using Json = nlohmann::ordered_json;
namespace rdma = transport::rdma;

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json SystemJson(const probe::SystemFacts& facts) {
  return Json{{"host_name", facts.host_name},
              {"kernel", facts.kernel},
              {"runtime_folder",
               {{"path", facts.runtime_folder.path},
                {"error", facts.runtime_folder.error},
                {"free_bytes", facts.runtime_folder.free_bytes}}},
              {"open_files", facts.open_files},
              {"open_files_most", facts.open_files_most},
              {"memfd_error", facts.memfd_error},
              {"pidfd_error", facts.pidfd_error},
              {"read_child_error", facts.read_child_error},
              {"ptrace_scope", OrNull(facts.ptrace_scope)}};
}

Json NetworkJson(const probe::NetworkFacts& facts) {
  Json interfaces = Json::array();
  for (const probe::InterfaceFacts& each : facts.interfaces) {
    Json addresses = Json::array();
    for (const InterfaceAddress& a : facts.addresses) {
      if (a.interface == each.name) addresses.push_back(a.address);
    }
    interfaces.push_back({{"name", each.name},
                          {"state", each.state},
                          {"mbits_per_s", OrNull(each.mbits_per_s)},
                          {"mtu_bytes", each.mtu_bytes},
                          {"driver", each.driver},
                          {"addresses", addresses}});
  }
  return Json{{"interfaces", interfaces}, {"error", facts.error}};
}

const char* TypeName(rdma::GidType type) {
  switch (type) {
    case rdma::GidType::kInfiniBand:
      return "IB";
    case rdma::GidType::kRoceV1:
      return "RoCE v1";
    case rdma::GidType::kRoceV2:
      break;
  }
  return "RoCE v2";
}

const char* LayerName(rdma::LinkLayer layer) {
  switch (layer) {
    case rdma::LinkLayer::kEthernet:
      return "Ethernet";
    case rdma::LinkLayer::kInfiniBand:
      return "InfiniBand";
    case rdma::LinkLayer::kUnspecified:
      break;
  }
  return "unspecified";
}

Json PortJson(const rdma::PortInfo& port) {
  Json gids = Json::array();
  for (const rdma::GidEntry& entry : port.gids) {
    if (rdma::IsZero(entry.gid)) continue;
    gids.push_back({{"index", entry.index},
                    {"gid", rdma::ToString(entry.gid)},
                    {"type", TypeName(entry.type)}});
  }
  return Json{{"number", port.number},
              {"active", port.active},
              {"state", port.state},
              {"layer", LayerName(port.layer)},
              {"gbits_per_s", port.gbits_per_s},
              {"active_mtu_bytes", port.active_mtu_bytes},
              {"max_message_bytes", port.max_message_bytes},
              {"lid", port.lid},
              {"gids", gids},
              {"pkeys", port.pkeys}};
}

Json RdmaJson(const probe::RdmaFacts& facts) {
  Json devices = Json::array();
  for (const probe::RdmaDeviceFacts& each : facts.devices) {
    Json ports = Json::array();
    for (const rdma::PortInfo& port : each.info.ports) ports.push_back(PortJson(port));
    devices.push_back({{"name", each.name},
                       {"node", each.node},
                       {"node_error", each.node_error},
                       {"in_library", each.in_library},
                       {"open_error", each.open_error},
                       {"not_for_links", each.not_for_links},
                       {"registers_dmabuf", each.registers_dmabuf},
                       {"interfaces", each.interfaces},
                       {"bus_id", each.bus_id},
                       {"ports", ports}});
  }
  return Json{{"devices", devices},
              {"list_error", facts.list_error},
              {"locked_bytes", facts.locked_unlimited ? Json() : Json(facts.locked_bytes)},
              {"locked_unlimited", facts.locked_unlimited}};
}

Json CudaJson(const probe::CudaFacts& facts) {
  Json gpus = Json::array();
  for (const probe::GpuFacts& gpu : facts.gpus) {
    gpus.push_back({{"ordinal", gpu.ordinal},
                    {"name", gpu.name},
                    {"bus_id", gpu.bus_id},
                    {"memory_bytes", gpu.memory_bytes},
                    {"capability_major", gpu.capability_major},
                    {"capability_minor", gpu.capability_minor},
                    {"exports_dmabuf", gpu.exports_dmabuf},
                    {"allows_rdma", gpu.allows_rdma},
                    {"writes_ordering", gpu.writes_ordering},
                    {"peers", gpu.peers}});
  }
  return Json{{"library_error", facts.library_error},
              {"start_error", facts.start_error},
              {"driver_version", facts.driver_version},
              {"kernel_driver", facts.kernel_driver},
              {"visible_devices", OrNull(facts.visible_devices)},
              {"gpus", gpus}};
}

Json PciJson(const probe::HostFacts& facts) {
  Json devices = Json::array();
  for (const probe::PciDevice& each : facts.pci) {
    devices.push_back({{"bus_id", each.place.bus_id},
                       {"bridges", each.place.bridges},
                       {"numa_node", each.place.numa_node},
                       {"iommu_group", each.iommu_group},
                       {"iommu_group_type", each.iommu_group_type}});
  }
  return Json{{"devices", devices}, {"error", facts.pci_error}};
}

}  // namespace

Json FactsJson(const probe::HostFacts& facts) {
  return Json{{"system", SystemJson(facts.system)},
              {"network", NetworkJson(facts.network)},
              {"rdma", RdmaJson(facts.rdma)},
              {"cuda", CudaJson(facts.cuda)},
              {"pci", PciJson(facts)}};
}

}  // namespace reigen::ctl
