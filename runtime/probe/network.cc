#include "runtime/probe/network.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/probe/sysfs.h"

namespace reigen::probe {

std::vector<InterfaceFacts> ReadInterfaces(const std::string& root) {
  const std::string base = root + "/sys/class/net/";
  std::vector<InterfaceFacts> interfaces;
  for (const std::string& name : Entries(base)) {
    const std::string folder = base + name;
    const std::optional<std::string> state = FirstLine(folder + "/operstate");
    if (!state) continue;  // a file of the bonding driver
    InterfaceFacts& facts = interfaces.emplace_back();
    facts.name = name;
    facts.state = *state;
    facts.mtu_bytes = FirstNumber(folder + "/mtu").value_or(0);
    const std::optional<int> speed = FirstNumber(folder + "/speed");
    if (speed && *speed > 0) facts.mbits_per_s = speed;
    facts.driver = LinkName(folder + "/device/driver");
  }
  return interfaces;
}

NetworkFacts ProbeNetwork() {
  NetworkFacts facts;
  facts.interfaces = ReadInterfaces("");
  StatusOr<std::vector<InterfaceAddress>> addresses = ListInterfaceAddresses();
  if (addresses.ok()) {
    facts.addresses = std::move(addresses).value();
  } else {
    facts.error = Message(addresses.status());
  }
  return facts;
}

}  // namespace reigen::probe
