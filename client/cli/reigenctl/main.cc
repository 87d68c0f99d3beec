// reigenctl: looks inside running jobs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/cli/reigenctl/jobs.h"
#include "client/cli/reigenctl/query.h"
#include "client/cli/reigenctl/render.h"
#include "runtime/base/runtime_folder.h"
#include "runtime/base/version.h"

namespace {

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
  CLI::App app("Looks inside running jobs: on the machine where reigenrun was started.",
               "reigenctl");
  app.set_version_flag("--version", std::string("reigenctl ") + reigen::kVersion);
  app.require_subcommand(1);
  bool json = false;
  std::string job;
  CLI::App& status = *app.add_subcommand(
      "status", "Members, epoch, and what is awaited, from whom, since when and why.");
  status.add_flag("--json", json, "As JSON: {\"jobs\": [...]}.");
  status.add_option("--job", job, "Only this job. Default: all of yours.")->type_name("ID");
  CLI11_PARSE(app, argc, argv);
  return ShowStatus(job, json);
}
