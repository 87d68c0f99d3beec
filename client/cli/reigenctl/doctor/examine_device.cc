#include "client/cli/reigenctl/doctor/examine_device.h"

#include <cstdint>
#include <utility>

#include "client/cli/reigenctl/doctor/phrases.h"
#include "runtime/transport/rdma/gid.h"

namespace reigen::ctl {
namespace {

namespace rdma = transport::rdma;

constexpr uint32_t kBestMtuBytes = 4096;

std::string Kind(const rdma::GidEntry& gid) {
  switch (gid.type) {
    case rdma::GidType::kInfiniBand:
      return "InfiniBand";
    case rdma::GidType::kRoceV1:
      return "RoCE v1";
    case rdma::GidType::kRoceV2:
      break;
  }
  return "RoCE v2";
}

std::string Gids(const rdma::PortInfo& port) {
  constexpr size_t kMost = 4;
  std::vector<std::string> gids;
  for (const rdma::GidEntry& entry : port.gids) {
    if (rdma::IsZero(entry.gid)) continue;
    gids.push_back(std::to_string(entry.index) + " " + rdma::ToString(entry.gid) + " (" +
                   Kind(entry) + ")");
  }
  if (gids.empty()) return "no GID";
  const size_t more = gids.size() > kMost ? gids.size() - kMost : 0;
  gids.resize(gids.size() - more);
  return "GIDs " + Join(gids) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

}  // namespace

Finding OfDevice(const probe::RdmaDeviceFacts& device) {
  Finding finding{Level::kProblem, "rdma", device.name, "", ""};
  if (device.node.empty()) {
    finding.text = "the kernel has it, and made no /dev/infiniband/uverbs for it";
    finding.remedy = "`modprobe ib_uverbs` (package rdma-core loads it at boot)";
  } else if (!device.node_error.empty()) {
    finding.text = device.node + ": " + device.node_error;
    finding.remedy =
        "in a container: `--device /dev/infiniband` (Kubernetes: the RDMA device plug-in); else "
        "`chmod 0666 " + device.node + "`, which rdma-core's udev rules do at boot";
  } else if (!device.in_library) {
    finding.text = "the kernel has it, libibverbs does not know it";
    finding.remedy =
        "the package ibverbs-providers (or the vendor's), of the version of libibverbs1";
  } else if (!device.not_for_links.empty()) {
    finding.level = Level::kNote;
    finding.text = device.not_for_links;
  } else if (!device.open_error.empty()) {
    finding.text = device.open_error;
    finding.remedy = "look into the kernel's log: `dmesg | grep -i -e infiniband -e " +
                     device.name + "`; `ibv_devinfo -d " + device.name + "` must work";
  }
  return finding;
}

Finding OfPort(const probe::RdmaDeviceFacts& device, const rdma::PortInfo& port, bool used) {
  const bool ethernet = port.layer == rdma::LinkLayer::kEthernet;
  std::vector<std::string> parts = {port.state, ethernet ? "RoCE" : "InfiniBand"};
  if (port.layer == rdma::LinkLayer::kUnspecified) parts[1] = "neither RoCE nor InfiniBand";
  if (port.gbits_per_s > 0) parts.push_back(Gbits(port.gbits_per_s));
  parts.push_back("MTU " + std::to_string(port.active_mtu_bytes));
  if (!device.interfaces.empty()) parts.push_back(Join(device.interfaces, " "));
  parts.push_back(Gids(port));
  Finding finding{Level::kOk, "rdma", device.name + ":" + std::to_string(port.number),
                  Join(parts), ""};
  if (!port.active) {
    finding.level = Level::kNote;
    finding.remedy = "if it is to be used: plug its cable in, or `ip link set ... up` its "
                     "network interface; InfiniBand needs a subnet manager (opensm)";
  } else if (used && port.active_mtu_bytes < kBestMtuBytes) {
    finding.level = Level::kNote;
    finding.remedy = ethernet
                         ? "a path MTU of 4096 needs an MTU of 4200 or more on the network "
                           "interface and its switches: `ip link set dev ... mtu 9000`"
                         : "a path MTU of 4096 is set in the subnet manager";
  }
  return finding;
}

std::vector<rdma::Candidate> Candidates(const probe::RdmaFacts& facts) {
  std::vector<rdma::Candidate> candidates;
  for (const probe::RdmaDeviceFacts& device : facts.devices) {
    const Finding broken = OfDevice(device);
    rdma::Candidate candidate{device.name, OkStatus(), device.info};
    if (!broken.text.empty()) {
      const StatusCode code =
          device.not_for_links.empty() ? StatusCode::kUnavailable : StatusCode::kFailedPrecondition;
      candidate.status = MakeStatus(code, device.name + ": " + broken.text);
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace reigen::ctl
