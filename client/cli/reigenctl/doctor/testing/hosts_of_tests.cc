#include "client/cli/reigenctl/doctor/testing/hosts_of_tests.h"

#include "runtime/transport/rdma/gid.h"

namespace reigen::ctl {

namespace rdma = transport::rdma;

probe::HostFacts PlainHost() {
  probe::HostFacts facts;
  facts.system.host_name = "anna";
  facts.system.kernel = "Linux 6.1.0 x86_64";
  facts.system.runtime_folder = {.path = "/tmp", .error = "", .free_bytes = uint64_t{10} << 30};
  facts.system.open_files = 1024;
  facts.system.open_files_most = 1 << 20;
  facts.network.interfaces = {
      {.name = "eth0", .state = "up", .mbits_per_s = 100000, .mtu_bytes = 9000, .driver = "mlx5"},
      {.name = "lo", .state = "unknown", .mbits_per_s = {}, .mtu_bytes = 65536, .driver = ""}};
  facts.network.addresses = {{.interface = "eth0", .address = "10.0.0.1"},
                             {.interface = "lo", .address = "127.0.0.1", .loopback = true}};
  facts.rdma.locked_bytes = 64 << 10;
  facts.cuda.library_error = "libcuda.so.1: no such file";
  return facts;
}

probe::RdmaDeviceFacts GoodDevice(const std::string& name, const std::string& address) {
  probe::RdmaDeviceFacts device;
  device.name = name;
  device.node = "/dev/infiniband/uverbs0";
  device.in_library = true;
  device.interfaces = {"eth0"};
  device.bus_id = "0000:3c:00.0";
  device.registers_dmabuf = true;
  rdma::PortInfo port;
  port.active = true;
  port.state = "ACTIVE";
  port.active_mtu_bytes = 4096;
  port.gbits_per_s = 100;
  port.gids = {{0, *rdma::GidOfAddress("fe80::1"), rdma::GidType::kRoceV1},
               {1, *rdma::GidOfAddress("fe80::1"), rdma::GidType::kRoceV2},
               {2, *rdma::GidOfAddress(address), rdma::GidType::kRoceV1},
               {3, *rdma::GidOfAddress(address), rdma::GidType::kRoceV2}};
  port.pkeys = {0xffff};
  device.info.name = name;
  device.info.max_qp_wrs = 1 << 15;
  device.info.max_cqes = 1 << 22;
  device.info.ports = {port};
  return device;
}

probe::HostFacts GpuHost() {
  probe::HostFacts facts = PlainHost();
  facts.rdma.devices = {GoodDevice("mlx5_0", "10.0.0.1")};
  facts.rdma.locked_unlimited = true;
  facts.cuda.library_error.clear();
  facts.cuda.driver_version = 12040;
  facts.cuda.kernel_driver = "NVRM version: 550.54";
  facts.cuda.gpus = {{.ordinal = 0,
                      .name = "H100",
                      .bus_id = "0000:3b:00.0",
                      .memory_bytes = uint64_t{80} << 30,
                      .capability_major = 9,
                      .capability_minor = 0,
                      .exports_dmabuf = true,
                      .allows_rdma = true,
                      .writes_ordering = 0,
                      .peers = {}}};
  facts.pci = {{.place = {"0000:3b:00.0", {"pci0000:3a", "0000:3a:00.0", "0000:3b:00.0"}, 0},
                .iommu_group = "",
                .iommu_group_type = ""},
               {.place = {"0000:3c:00.0", {"pci0000:3a", "0000:3a:00.0", "0000:3b:01.0"}, 0},
                .iommu_group = "",
                .iommu_group_type = ""}};
  return facts;
}

Wishes PlainWishes() {
  Wishes wishes;
  wishes.registered_bytes = 64 << 20;
  return wishes;
}

const Finding* FindFinding(const Report& report, const std::string& area,
                           const std::string& subject) {
  const Finding* found = nullptr;
  for (const Finding& finding : report.findings) {
    if (finding.area == area && finding.subject == subject) found = &finding;
  }
  return found;
}

std::vector<std::string> SubjectsOf(const Report& report, Level level) {
  std::vector<std::string> subjects;
  for (const Finding& finding : report.findings) {
    if (finding.level == level) subjects.push_back(finding.area + "/" + finding.subject);
  }
  return subjects;
}

}  // namespace reigen::ctl
