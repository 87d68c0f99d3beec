#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/reigenctl/doctor/examine.h"
#include "client/cli/reigenctl/doctor/examine_device.h"
#include "client/cli/reigenctl/doctor/job_rails.h"
#include "client/cli/reigenctl/doctor/phrases.h"
#include "runtime/base/status.h"
#include "runtime/transport/rdma/choice.h"
#include "runtime/transport/rdma/path.h"
#include "runtime/transport/rdma/words.h"

namespace reigen::ctl {
namespace {

namespace rdma = transport::rdma;

Finding Rdma(Level level, const std::string& subject, const std::string& text,
             const std::string& remedy = "") {
  return {level, "rdma", subject, text, remedy};
}

// What it takes where most is needed.
Finding OfLockedMemory(const probe::RdmaFacts& facts, const Wishes& wishes,
                       const std::vector<JobRails>& all) {
  const rdma::LockedMemory allowed{facts.locked_bytes, facts.locked_unlimited};
  const auto needed_by = [&](const JobRails& rails) {
    return LockedBytesOf(rails, wishes, wishes.hosts);
  };
  uint64_t needed_bytes = 0;
  for (const JobRails& rails : all) needed_bytes = std::max(needed_bytes, needed_by(rails));
  std::vector<std::string> addresses;
  const JobRails* most = nullptr;
  bool for_all = true;
  for (const JobRails& rails : all) {
    if (needed_by(rails) < needed_bytes) {
      for_all = false;
      continue;
    }
    most = &rails;
    addresses.insert(addresses.end(), rails.addresses.begin(), rails.addresses.end());
  }
  const Status status = rdma::CheckLockedMemory(allowed, needed_bytes);
  if (allowed.unlimited) return Rdma(Level::kOk, "locked memory", "not limited");
  if (status.ok()) {
    const uint64_t more_bytes = LockedBytesOf(*most, wishes, wishes.hosts + 1) - needed_bytes;
    const std::string hosts = wishes.hosts == 2 ? "two" : std::to_string(wishes.hosts);
    return Rdma(Level::kOk, "locked memory",
                "up to " + Bytes(facts.locked_bytes) + ", " + Bytes(needed_bytes) +
                    " are needed by a job of " + hosts + " hosts, " + Bytes(more_bytes) +
                    " more by each further one");
  }
  const std::string remedy = rdma::kHowToRaiseLockedMemory;
  std::string text = Message(status);
  if (text.ends_with("; " + remedy)) text.resize(text.size() - remedy.size() - 2);
  return Rdma(Level::kProblem, "locked memory", (for_all ? "" : If(addresses)) + text, remedy);
}

bool Takes(const std::vector<JobRails>& all, const std::string& device, int port) {
  for (const JobRails& rails : all) {
    if (!rails.choice.ok()) continue;
    for (const rdma::RailChoice& rail : rails.choice->rails) {
      if (rail.device == device && rail.port.number == port) return true;
    }
  }
  return false;
}

std::vector<std::string> Kinds(const std::vector<JobRails>& all) {
  std::set<std::string> kinds;
  for (const JobRails& rails : all) {
    for (const rdma::RailChoice& rail : rails.choice->rails) {
      rdma::RailAddress address;
      address.layer = rail.port.layer;
      address.gid_type = rail.gid.type;
      address.gid = rail.gid.gid;
      address.pkey = rdma::PkeyOf(rail);
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
  if (!facts.devices.empty()) text += " that links could use";
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

// Why links cannot have any of it. False: nothing speaks against it.
bool AddRefusals(const Wishes& wishes, const std::vector<JobRails>& all, Report* report) {
  bool refused = false;
  for (const JobRails& rails : all) {
    if (rails.choice.ok()) continue;
    refused = true;
    const std::string why = (all.size() > 1 ? If(rails.addresses) : "") + Message(rails.choice.status());
    if (rails.choice.status().code() == StatusCode::kInvalidArgument) {
      AddMistake(wishes, "between hosts", why, kWishRemedy, report);
    } else {
      report->findings.push_back(
          Rdma(Level::kProblem, "between hosts", why + "; " + Instead(wishes),
               "mend a port (its line says how), or do without: `--transport tcp`"));
    }
  }
  return refused;
}

// "PORTS (why these)", of each address where they differ.
std::string PortsOf(const std::vector<JobRails>& all) {
  std::string text;
  for (const JobRails& rails : all) {
    text += (text.empty() ? "" : "; ") + Join(rails.ports()) + " (" + rails.choice->reason + ")";
    if (all.size() < 2) continue;
    text += (&rails == &all.front() ? " if the job takes " : " if it takes ") +
            Join(rails.addresses, " or ");
  }
  return text;
}

// Adds what a host with devices has.
void AddDevices(const probe::RdmaFacts& facts, const Wishes& wishes, Report* report) {
  const std::vector<rdma::Candidate> candidates = Candidates(facts);
  const std::vector<JobRails> all = RailsOfJob(candidates, wishes, report->addresses);
  for (const probe::RdmaDeviceFacts& device : facts.devices) {
    Finding broken = OfDevice(device);
    if (!broken.text.empty()) {
      report->findings.push_back(std::move(broken));
      continue;
    }
    for (const rdma::PortInfo& port : device.info.ports) {
      report->findings.push_back(OfPort(device, port, Takes(all, device.name, port.number)));
    }
  }
  const Finding locked = OfLockedMemory(facts, wishes, all);
  report->findings.push_back(locked);
  if (AddRefusals(wishes, all, report)) return;
  for (const JobRails& rails : all) {
    for (const std::string& port : rails.ports()) {
      if (!Contains(report->rdma_ports, port)) report->rdma_ports.push_back(port);
    }
    for (const rdma::RailChoice& rail : rails.choice->rails) {
      const uint32_t mtu = rail.port.active_mtu_bytes;
      report->rdma_mtu_bytes =
          report->rdma_mtu_bytes == 0 ? mtu : std::min(report->rdma_mtu_bytes, mtu);
    }
  }
  const std::string why_not = WhyNotUsed(wishes, locked);
  report->findings.push_back(Rdma(Level::kOk, "between hosts", PortsOf(all) + why_not));
  for (const JobRails& rails : all) {
    for (const std::string& warning : rails.choice->warnings) {
      report->findings.push_back(Rdma(Level::kNote, "devices",
                                      (all.size() > 1 ? If(rails.addresses) : "") + warning));
    }
  }
  if (!why_not.empty()) return;
  report->transport = "rdma";
  report->rdma_kinds = Kinds(all);
  for (const JobRails& rails : all) {
    report->link_devices.push_back({rails.addresses, rails.devices()});
  }
  report->usable_alone = UsableAlone(candidates, wishes, report->addresses);
}

}  // namespace

void ExamineRdma(const probe::RdmaFacts& facts, const Wishes& wishes, Report* report) {
  report->transport = NeedsRdma(wishes) ? "none" : "tcp";
  if (!wishes.variable_error.empty()) {
    AddMistake(wishes, "variables", wishes.variable_error,
               "correct or unset it: this host's own counts, else that of where the job is started",
               report);
  }
  const bool none = std::all_of(facts.devices.begin(), facts.devices.end(),
                                [](const auto& each) { return !each.not_for_links.empty(); });
  if (none && (facts.devices.empty() || wishes.rdma.devices.empty())) {
    for (const probe::RdmaDeviceFacts& device : facts.devices) {
      report->findings.push_back(OfDevice(device));
    }
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
