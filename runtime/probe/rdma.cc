#include "runtime/probe/rdma.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "runtime/base/unique_fd.h"
#include "runtime/gpudirect/distance.h"
#include "runtime/probe/sysfs.h"
#include "runtime/transport/rdma/words.h"

namespace reigen::probe {
namespace {

using transport::rdma::Device;
using transport::rdma::Verbs;

// "/dev/infiniband/uverbs0" of the device; empty: there is none.
std::string NodeOf(const std::string& root, const std::string& device) {
  const std::string base = root + "/sys/class/infiniband_verbs/";
  for (const std::string& node : Entries(base)) {
    if (FirstLine(base + node + "/ibdev") == device) return root + "/dev/infiniband/" + node;
  }
  return "";
}

// Network interfaces of its ports, each once.
std::vector<std::string> InterfacesOf(const std::string& folder) {
  std::vector<std::string> names;
  for (const std::string& port : Entries(folder + "/ports")) {
    const std::string table = folder + "/ports/" + port + "/gid_attrs/ndevs/";
    for (const std::string& index : Entries(table)) {
      // Of an unused entry the kernel says that it is invalid.
      const std::optional<std::string> name = FirstLine(table + index);
      if (name && std::find(names.begin(), names.end(), *name) == names.end()) {
        names.push_back(*name);
      }
    }
  }
  return names;
}

RdmaDeviceFacts ReadDevice(const std::string& root, const std::string& name) {
  const std::string folder = root + "/sys/class/infiniband/" + name;
  RdmaDeviceFacts facts;
  facts.name = name;
  facts.node = NodeOf(root, name);
  if (!facts.node.empty()) {
    const UniqueFd fd(open(facts.node.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd.valid()) facts.node_error = std::strerror(errno);
  }
  facts.interfaces = InterfacesOf(folder);
  const std::string bus_id = LinkName(folder + "/device");
  if (std::count(bus_id.begin(), bus_id.end(), ':') == 2) {
    facts.bus_id = gpudirect::NormalBusId(bus_id);
  }
  return facts;
}

// No descriptor is -1: who knows dma-bufs says so, who does not says that.
bool RegistersDmabuf(Device& device) {
  const auto region =
      device.RegisterDmabuf(-1, 0, 4096, 0, transport::rdma::Access::kRemote);
  return region.ok() || region.status().code() != StatusCode::kUnimplemented;
}

void Ask(Verbs& verbs, RdmaDeviceFacts& facts) {
  const StatusOr<std::unique_ptr<Device>> device = verbs.Open(facts.name);
  if (device.status().code() == StatusCode::kFailedPrecondition) {
    facts.in_library = true;
    facts.not_for_links = Message(device.status());
    return;
  }
  if (!device.ok()) {
    facts.in_library = device.status().code() != StatusCode::kNotFound;
    facts.open_error = Message(device.status());
    return;
  }
  facts.in_library = true;
  auto info = (*device)->Query();
  if (!info.ok()) {
    facts.open_error = Message(info.status());
    return;
  }
  facts.info = std::move(info).value();
  facts.registers_dmabuf = RegistersDmabuf(**device);
}

RdmaDeviceFacts& Find(RdmaFacts& facts, const std::string& name) {
  for (RdmaDeviceFacts& device : facts.devices) {
    if (device.name == name) return device;
  }
  facts.devices.emplace_back().name = name;
  return facts.devices.back();
}

}  // namespace

RdmaFacts ProbeRdma(const std::string& root, const StatusOr<std::unique_ptr<Verbs>>& verbs) {
  RdmaFacts facts;
  const transport::rdma::LockedMemory locked = transport::rdma::ReadLockedMemory();
  facts.locked_bytes = locked.limit_bytes;
  facts.locked_unlimited = locked.unlimited;
  for (const std::string& name : Entries(root + "/sys/class/infiniband")) {
    facts.devices.push_back(ReadDevice(root, name));
  }
  if (!verbs.ok()) {
    facts.list_error = Message(verbs.status());
    return facts;
  }
  const StatusOr<std::vector<std::string>> names = (*verbs)->ListDevices();
  if (!names.ok()) {
    facts.list_error = Message(names.status());
    return facts;
  }
  for (const std::string& name : *names) {
    RdmaDeviceFacts& device = Find(facts, name);
    Ask(**verbs, device);
  }
  return facts;
}

}  // namespace reigen::probe
