#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/reigenctl/doctor/examine.h"
#include "client/cli/reigenctl/doctor/phrases.h"
#include "runtime/base/status.h"
#include "runtime/transport/rdma/choice.h"
#include "runtime/transport/rdma/path.h"
#include "runtime/transport/rdma/words.h"

namespace reigen::ctl {
namespace {

namespace rdma = transport::rdma;

constexpr uint32_t kBestMtuBytes = 4096;

Finding Rdma(Level level, const std::string& subject, const std::string& text,
             const std::string& remedy = "") {
  return {level, "rdma", subject, text, remedy};
}

// What keeps the whole device from being used; no text: nothing.
Finding OfDevice(const probe::RdmaDeviceFacts& device) {
  Finding finding = Rdma(Level::kProblem, device.name, "");
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
  } else if (!device.open_error.empty()) {
    finding.text = device.open_error;
    finding.remedy = "look into the kernel's log: `dmesg | grep -i -e infiniband -e " +
                     device.name + "`; `ibv_devinfo -d " + device.name + "` must work";
  }
  return finding;
}

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

// `used`: links take it.
Finding OfPort(const probe::RdmaDeviceFacts& device, const rdma::PortInfo& port, bool used) {
  const bool ethernet = port.layer == rdma::LinkLayer::kEthernet;
  std::vector<std::string> parts = {port.state, ethernet ? "RoCE" : "InfiniBand"};
  if (port.gbits_per_s > 0) parts.push_back(Gbits(port.gbits_per_s));
  parts.push_back("MTU " + std::to_string(port.active_mtu_bytes));
  if (!device.interfaces.empty()) parts.push_back(Join(device.interfaces, " "));
  parts.push_back(Gids(port));
  Finding finding =
      Rdma(Level::kOk, device.name + ":" + std::to_string(port.number), Join(parts));
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

// Without its remedy, which it ends with.
Finding OfLockedMemory(const probe::RdmaFacts& facts, const Wishes& wishes,
                        const StatusOr<rdma::Choice>& choice, bool one_port) {
  const rdma::LockedMemory allowed{facts.locked_bytes, facts.locked_unlimited};
  std::set<std::string> devices;
  if (choice.ok()) {
    for (const rdma::RailChoice& rail : choice->rails) devices.insert(rail.device);
  }
  const size_t counted = one_port || devices.empty() ? 1 : devices.size();
  const auto needed_by = [&](size_t links) {
    return rdma::LockedBytes(wishes.registered_bytes, counted, links);
  };
  const uint64_t needed_bytes = needed_by(1);
  const Status status = rdma::CheckLockedMemory(allowed, needed_bytes);
  if (status.ok()) {
    return Rdma(Level::kOk, "locked memory",
                allowed.unlimited ? "not limited"
                                  : "up to " + Bytes(facts.locked_bytes) + ", " +
                                        Bytes(needed_bytes) + " are needed by a job of two hosts, " +
                                        Bytes(needed_by(2) - needed_bytes) + " more by each further one");
  }
  const std::string remedy = rdma::kHowToRaiseLockedMemory;
  std::string text = Message(status);
  if (text.ends_with("; " + remedy)) text.resize(text.size() - remedy.size() - 2);
  return Rdma(Level::kProblem, "locked memory", text, remedy);
}

std::vector<rdma::Candidate> Candidates(const probe::RdmaFacts& facts) {
  std::vector<rdma::Candidate> candidates;
  for (const probe::RdmaDeviceFacts& device : facts.devices) {
    const Finding broken = OfDevice(device);
    rdma::Candidate candidate{device.name, OkStatus(), device.info};
    if (!broken.text.empty()) candidate.status = Unavailable(device.name + ": " + broken.text);
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

bool Takes(const rdma::Choice& choice, const std::string& device, int port) {
  return std::any_of(choice.rails.begin(), choice.rails.end(), [&](const rdma::RailChoice& r) {
    return r.device == device && r.port.number == port;
  });
}

// Of the ports that a job takes, which depends on the address that it chooses: of each.
std::vector<std::string> Kinds(const std::vector<rdma::Candidate>& candidates, rdma::Wish wish) {
  std::vector<std::vector<std::string>> choices;
  for (const std::string& address : wish.networks) choices.push_back({address});
  if (choices.empty()) choices.emplace_back();
  std::set<std::string> kinds;
  for (std::vector<std::string>& networks : choices) {
    wish.networks = std::move(networks);
    const StatusOr<rdma::Choice> choice = rdma::ChooseRails(candidates, wish);
    if (!choice.ok()) continue;
    for (const rdma::RailChoice& rail : choice->rails) {
      rdma::RailAddress address;
      address.layer = rail.port.layer;
      address.gid_type = rail.gid.type;
      address.gid = rail.gid.gid;
      kinds.insert(rdma::KindOf(address));
    }
  }
  return {kinds.begin(), kinds.end()};
}

bool NeedsRdma(const Wishes& wishes) { return wishes.transport == "rdma"; }

// What follows where RDMA cannot be used.
const char* Instead(const Wishes& wishes) {
  return NeedsRdma(wishes) ? "a job that asks for RDMA is refused" : "links use TCP";
}

constexpr char kWishRemedy[] =
    "ask for what the ports have (see above), or not at all: --rdma-devices, --rdma-gid-index, "
    "and REIGEN_RDMA_* here and where the job is started; or do without: `--transport tcp`";

// A wish that cannot be met is a mistake: that there is TCP is no way out of it.
void AddMistake(const Wishes& wishes, const std::string& subject, const std::string& text,
                const std::string& remedy, Report* report) {
  const bool refused = wishes.transport != "tcp";
  report->findings.push_back(
      Rdma(Level::kProblem, subject,
           text + (refused ? ": a job with this wish is refused" : "; not used: --transport tcp"),
           remedy));
  if (refused) report->transport = "none";
}

// No device at all, which is broken only if somebody counts on one.
void AddAbsent(const probe::RdmaFacts& facts, const Wishes& wishes, Report* report) {
  std::string text = "there is no RDMA device";
  if (!facts.list_error.empty()) text += " (" + facts.list_error + ")";
  const std::string remedy =
      "the card's driver must be loaded (`rdma link` lists devices); in a container, `--device "
      "/dev/infiniband`; without such a card, `--transport tcp`";
  if (!wishes.rdma.devices.empty()) {
    AddMistake(wishes, "devices", text + ", and " + Join(wishes.rdma.devices) + " was asked for",
               remedy + " and neither --rdma-devices nor REIGEN_RDMA_DEVICES", report);
  } else if (NeedsRdma(wishes)) {
    report->findings.push_back(
        Rdma(Level::kProblem, "devices",
             text + ": " + Instead(wishes), remedy));
  } else {
    report->findings.push_back(Rdma(Level::kNote, "devices", text + ": links use TCP"));
  }
}

// Why links do not take the ports that were chosen; empty: they do.
std::string WhyNotUsed(const Wishes& wishes, const Finding& locked) {
  if (wishes.transport == "tcp") return "; not used: --transport tcp";
  if (!wishes.variable_error.empty()) {
    return "; not used as long as a variable makes no sense: a job is refused";
  }
  if (locked.level == Level::kProblem) {
    return std::string("; not used as long as locked memory is limited: ") + Instead(wishes);
  }
  return "";
}

// Adds what a host with devices has.
void AddDevices(const probe::RdmaFacts& facts, const Wishes& wishes, Report* report) {
  rdma::Wish wish = wishes.rdma;
  wish.networks = report->addresses;
  const std::vector<rdma::Candidate> candidates = Candidates(facts);
  const StatusOr<rdma::Choice> choice = rdma::ChooseRails(candidates, wish);
  for (const probe::RdmaDeviceFacts& device : facts.devices) {
    Finding broken = OfDevice(device);
    if (!broken.text.empty()) {
      report->findings.push_back(std::move(broken));
      continue;
    }
    for (const rdma::PortInfo& port : device.info.ports) {
      const bool used = choice.ok() && Takes(*choice, device.name, port.number);
      report->findings.push_back(OfPort(device, port, used));
    }
  }
  // Of several addresses a job takes one, with its port.
  const bool one_port = report->addresses.size() > 1;
  const Finding locked = OfLockedMemory(facts, wishes, choice, one_port);
  report->findings.push_back(locked);

  if (!choice.ok()) {
    const std::string why = Message(choice.status());
    if (choice.status().code() == StatusCode::kInvalidArgument) {
      AddMistake(wishes, "between hosts", why, kWishRemedy, report);
    } else {
      report->findings.push_back(
          Rdma(Level::kProblem, "between hosts", why + "; " + Instead(wishes),
               "mend a port (its line says how), or do without: `--transport tcp`"));
    }
    return;
  }
  for (const rdma::RailChoice& rail : choice->rails) {
    report->rdma_ports.push_back(rdma::ToString(rail));
    const uint32_t mtu = rail.port.active_mtu_bytes;
    report->rdma_mtu_bytes =
        report->rdma_mtu_bytes == 0 ? mtu : std::min(report->rdma_mtu_bytes, mtu);
  }
  Finding between =
      Rdma(Level::kOk, "between hosts", Join(report->rdma_ports) + " (" + choice->reason + ")");
  if (report->rdma_ports.size() > 1 && report->addresses.size() > 1) {
    between.text += "; of these a job takes those of the address that it chooses";
  }
  const std::string why_not = WhyNotUsed(wishes, locked);
  between.text += why_not;
  report->findings.push_back(between);
  if (!why_not.empty()) return;
  report->transport = "rdma";
  report->rdma_kinds = Kinds(candidates, wish);
  for (const rdma::RailChoice& rail : choice->rails) {
    auto& devices = report->rdma_devices;
    if (std::find(devices.begin(), devices.end(), rail.device) == devices.end()) {
      devices.push_back(rail.device);
    }
  }
}

}  // namespace

void ExamineRdma(const probe::RdmaFacts& facts, const Wishes& wishes, Report* report) {
  report->transport = NeedsRdma(wishes) ? "none" : "tcp";
  if (!wishes.variable_error.empty()) {
    AddMistake(wishes, "variables", wishes.variable_error,
               "correct or unset it: this host's own counts, else that of where the job is started",
               report);
  }
  if (facts.devices.empty()) {
    AddAbsent(facts, wishes, report);
  } else {
    AddDevices(facts, wishes, report);
  }
  if (wishes.transport != "tcp") return;
  // Whoever does without RDMA is not kept from it by what is wrong with it.
  for (Finding& finding : report->findings) {
    if (finding.area == "rdma") finding.level = std::min(finding.level, Level::kNote);
  }
}

}  // namespace reigen::ctl
