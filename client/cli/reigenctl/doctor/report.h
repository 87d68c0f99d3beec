// Reports as JSON and as text. Pure.
//
// JSON of a host (ARCHITECTURE.md lists the keys):
//   host, version, verdict ("ok", "note", "problem": the worst finding),
//   findings [{level, area, subject, text, remedy?}],
//   transport ("rdma", "tcp", "none", ""), addresses, rdma_ports, rdma_mtu_bytes,
//   gpu_rdma [{gpu, device, distance, mode, reason, remedy}], facts (facts_json.h)
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_REPORT_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/cli/reigenctl/doctor/findings.h"
#include "runtime/base/status.h"

namespace reigen::ctl {

nlohmann::ordered_json ReportJson(const Report& report, const nlohmann::ordered_json& facts);
nlohmann::ordered_json FindingsJson(const std::vector<Finding>& findings);

// A report that another host's reigenctl printed: what the text needs of it. Anything
// that is not one is InvalidArgument.
StatusOr<Report> ParseReport(const nlohmann::ordered_json& json);

std::string ReportText(const Report& report);
std::string FindingsText(const std::string& title, const std::vector<Finding>& findings);

int Problems(const std::vector<Finding>& findings);

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_REPORT_H_
