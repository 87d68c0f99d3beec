#include <string>
#include <vector>

#include "client/cli/reigenctl/doctor/examine.h"
#include "client/cli/reigenctl/doctor/phrases.h"
#include "runtime/base/interfaces.h"
#include "runtime/base/status.h"

namespace reigen::ctl {
namespace {

std::string Describe(const probe::InterfaceFacts& facts,
                     const std::vector<std::string>& addresses) {
  std::vector<std::string> parts = {facts.state == "unknown" ? "up" : facts.state};
  if (facts.mbits_per_s) parts.push_back(Gbits(*facts.mbits_per_s / 1000.0));
  parts.push_back("MTU " + std::to_string(facts.mtu_bytes));
  parts.insert(parts.end(), addresses.begin(), addresses.end());
  return Join(parts);
}

void AddInterface(const probe::InterfaceFacts& facts, const probe::NetworkFacts& network,
                  Report* report) {
  std::vector<std::string> addresses;
  bool chosen = false, loopback = false, asleep = true;
  for (const InterfaceAddress& a : network.addresses) {
    if (a.interface != facts.name) continue;
    addresses.push_back(a.address);
    chosen = chosen || Contains(report->addresses, a.address);
    loopback = loopback || a.loopback;
    asleep = false;
  }
  Finding finding{Level::kOk, "network", facts.name, Describe(facts, addresses), ""};
  if (chosen && facts.state == "down") {
    finding.level = Level::kNote;
    finding.text += ": has an address, and no carrier";
  } else if (chosen) {
    finding.text += ": between hosts";
  } else if (loopback) {
    finding.text += ": inside this host";
  } else {
    finding.text += asleep ? ": without an address" : ": not used";
  }
  report->findings.push_back(finding);
}

}  // namespace

void ExamineNetwork(const probe::NetworkFacts& facts, const Wishes& wishes, Report* report) {
  if (!facts.error.empty()) {
    report->findings.push_back({Level::kProblem, "network", "interfaces", facts.error,
                                "netlink sockets must be allowed here (seccomp, SELinux)"});
    return;
  }
  const StatusOr<ChosenAddresses> chosen =
      ChooseAddresses(facts.addresses, wishes.networks, report->host);
  if (chosen.ok()) report->addresses = chosen->addresses;
  for (const probe::InterfaceFacts& each : facts.interfaces) AddInterface(each, facts, report);

  Finding choice{Level::kOk, "network", "between hosts", "", ""};
  if (chosen.ok()) {
    choice.text = Join(chosen->addresses) + " (" + chosen->reason + ")" +
                  (chosen->addresses.size() > 1
                       ? "; of these a host takes the one by which it reaches the coordinator"
                       : "");
  } else if (wishes.networks.empty()) {
    choice.level = Level::kNote;
    choice.text = Message(chosen.status()) + "; jobs on this host alone run";
  } else {
    choice.level = Level::kProblem;
    choice.text = Message(chosen.status());
    choice.remedy =
        "bring such an interface up here, or give --network-interface names or networks of all "
        "hosts (10.1.0.0/16,eth0)";
  }
  report->findings.push_back(choice);
}

}  // namespace reigen::ctl
