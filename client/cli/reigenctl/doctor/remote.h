// Runs reigenctl on other hosts, all at once, and takes what they print.
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_REMOTE_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_REMOTE_H_

#include <string>
#include <vector>

#include "client/cli/reigenctl/doctor/report.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace reigen::ctl {

struct HostAnswer {
  std::string host;
  Report report;
  nlohmann::ordered_json json;
};

// A command that prints a report as JSON, and the host it is run for.
struct Question {
  std::string host;
  std::vector<std::string> words;
};

// In the order of the questions. A host that does not answer has a report with that
// problem. Whoever has not answered by the deadline is killed.
//
// Threads: call it from the main thread, which the children die with.
std::vector<HostAnswer> AskHosts(const std::vector<Question>& questions, Time deadline);

// The answer of a command with these words: its exit and what it printed. Pure.
HostAnswer ReadAnswer(const Question& question, const std::string& end, const std::string& output,
                      const std::string& errors);

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_REMOTE_H_
