#include "client/cli/reigenctl/doctor/examine.h"

#include "runtime/base/version.h"

namespace reigen::ctl {

Report Examine(const probe::HostFacts& facts, const Wishes& wishes) {
  Report report;
  report.host = facts.system.host_name;
  report.version = kVersion;
  ExamineSystem(facts.system, &report);
  ExamineNetwork(facts.network, wishes, &report);
  ExamineRdma(facts.rdma, wishes, &report);
  ExamineGpus(facts, wishes, &report);
  return report;
}

}  // namespace reigen::ctl
