#include <map>
#include <string>
#include <vector>

#include "client/cli/reigenctl/doctor/examine.h"
#include "client/cli/reigenctl/doctor/phrases.h"

namespace reigen::ctl {
namespace {

// "0.1.0 on a, b; 0.2.0 on c", if there is more than one value; else empty.
std::string Differing(const std::map<std::string, std::vector<std::string>>& hosts_by_value) {
  if (hosts_by_value.size() < 2) return "";
  std::vector<std::string> parts;
  for (const auto& [value, hosts] : hosts_by_value) parts.push_back(value + " on " + Join(hosts));
  return Join(parts, "; ");
}

}  // namespace

std::vector<Finding> Compare(const std::vector<Report>& reports) {
  std::map<std::string, std::vector<std::string>> versions, transports, mtus;
  for (const Report& report : reports) {
    if (!report.version.empty()) versions[report.version].push_back(report.host);
    if (!report.transport.empty()) transports[report.transport].push_back(report.host);
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
  if (const std::string text = Differing(mtus); !text.empty()) {
    findings.push_back(
        {Level::kNote, "hosts", "RDMA MTU", text + ": of two ends the smaller counts", ""});
  }
  return findings;
}

}  // namespace reigen::ctl
