// reigenctl: looks inside running jobs, and at hosts.
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "client/cli/reigenctl/command_line.h"
#include "client/cli/reigenctl/doctor/doctor.h"
#include "client/cli/reigenctl/jobs.h"
#include "client/cli/reigenctl/query.h"
#include "client/cli/reigenctl/render.h"
#include "runtime/base/runtime_folder.h"
#include "runtime/base/status.h"

namespace {

constexpr int kUsageCode = 2;

// 0: every job that was asked for was shown.
int ShowStatus(const std::string& wanted, bool json) {
  const std::string base = reigen::RuntimeBase("");
  nlohmann::ordered_json shown = nlohmann::ordered_json::array();
  size_t asked = 0;
  bool failed = false;
  for (const reigen::control::StatusFile& job : reigen::ctl::FindJobs(base)) {
    if (!wanted.empty() && job.job() != wanted) continue;
    const auto status = reigen::ctl::QueryStatus(job);
    if (!status.ok()) {
      failed = true;
      std::fprintf(stderr, "reigenctl: job %s: %s\n", job.job().c_str(),
                   reigen::Message(status.status()).c_str());
    } else if (json) {
      shown.push_back(reigen::ctl::StatusJson(*status));
    } else {
      std::printf("%s%s", asked > 0 ? "\n" : "", reigen::ctl::StatusText(*status).c_str());
    }
    ++asked;
  }
  if (json) {
    using Json = nlohmann::ordered_json;
    std::printf("%s\n", Json{{"jobs", shown}}.dump(2, ' ', false, Json::error_handler_t::replace)
                            .c_str());
  }
  if (asked > 0) return failed ? 1 : 0;
  if (wanted.empty()) {
    std::fprintf(stderr, "reigenctl: no job of yours is running on this machine (looked in %s)\n",
                 base.c_str());
  } else {
    std::fprintf(stderr, "reigenctl: no job '%s' of yours is running on this machine (looked in %s)\n",
                 wanted.c_str(), base.c_str());
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const gpu_direct = std::getenv("REIGEN_GPU_DIRECT");
  const auto line = reigen::ctl::ParseCommandLine({argv + 1, argv + argc},
                                                  gpu_direct == nullptr ? "" : gpu_direct);
  if (!line.ok()) {
    std::fprintf(stderr, "reigenctl: %s\n", reigen::Message(line.status()).c_str());
    return kUsageCode;
  }
  if (!line->text.empty()) {
    std::fputs(line->text.c_str(), stdout);
    return 0;
  }
  if (line->is_doctor) return reigen::ctl::RunDoctor(line->doctor);
  return ShowStatus(line->status.job, line->status.json);
}
