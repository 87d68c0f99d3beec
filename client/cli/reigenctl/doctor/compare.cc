#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "client/cli/reigenctl/doctor/examine.h"
#include "client/cli/reigenctl/doctor/phrases.h"
#include "runtime/base/rdma_kind.h"

namespace reigen::ctl {
namespace {

// "0.1.0 on a, b; 0.2.0 on c", if there is more than one value; else empty.
std::string Differing(const std::map<std::string, std::vector<std::string>>& hosts_by_value) {
  if (hosts_by_value.size() < 2) return "";
  std::vector<std::string> parts;
  for (const auto& [value, hosts] : hosts_by_value) parts.push_back(value + " on " + Join(hosts));
  return Join(parts, "; ");
}

// Hosts that have RDMA and cannot talk over it: a finding for each two groups of them, and
// for each that cannot inside.
void AddKinds(const std::vector<Report>& reports, const Wishes& wishes,
              std::vector<Finding>* findings) {
  std::map<std::vector<std::string>, std::vector<std::string>> hosts_by_kinds;
  for (const Report& report : reports) {
    if (!report.rdma_kinds.empty()) hosts_by_kinds[report.rdma_kinds].push_back(report.host);
  }
  const std::string follows = wishes.transport == "rdma"
                                  ? "; a job that asks for RDMA cannot link them"
                                  : "; links between them use TCP";
  for (auto a = hosts_by_kinds.begin(); a != hosts_by_kinds.end(); ++a) {
    for (auto b = a; b != hosts_by_kinds.end(); ++b) {
      // Limited members of a partition do not talk to their like.
      if (a == b && a->second.size() < 2) continue;
      const RdmaEnd one{a->second.front(), a->first}, other{b->second.back(), b->first};
      if (WhyNotRdma(one, other).empty()) continue;
      std::string text = Join(a->first, " and ") + " on " + Join(a->second);
      if (a != b) text += "; " + Join(b->first, " and ") + " on " + Join(b->second);
      findings->push_back({Level::kProblem, "hosts", "RDMA ports",
                           text + ": they cannot talk to each other" + follows,
                           RdmaKindRemedy(a->first, b->first)});
    }
  }
}

}  // namespace

std::vector<Finding> Compare(const std::vector<Report>& reports, const Wishes& wishes) {
  std::map<std::string, std::vector<std::string>> versions, transports, mtus;
  for (const Report& report : reports) {
    if (!report.version.empty()) versions[report.version].push_back(report.host);
    // Which of them jobs are refused on is a finding of its own.
    if (report.transport == "rdma" || report.transport == "tcp") {
      transports[report.transport].push_back(report.host);
    }
    if (report.rdma_mtu_bytes > 0) {
      mtus[std::to_string(report.rdma_mtu_bytes)].push_back(report.host);
    }
  }
  std::vector<Finding> findings;
  if (const std::string text = Differing(versions); !text.empty()) {
    findings.push_back({Level::kProblem, "hosts", "version", "Reigen " + text,
                        "one job runs one version: install the same one on all hosts "
                        "(deploy/install)"});
  }
  if (const std::string text = Differing(transports); !text.empty()) {
    findings.push_back({Level::kNote, "hosts", "transport",
                        text + ": links with a host that has no RDMA use TCP", ""});
  }
  AddKinds(reports, wishes, &findings);
  if (const std::string text = Differing(mtus); !text.empty()) {
    findings.push_back(
        {Level::kNote, "hosts", "RDMA MTU", text + ": of two ends the smaller counts", ""});
  }
  return findings;
}

}  // namespace reigen::ctl
