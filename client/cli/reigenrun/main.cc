// reigenrun: starts a training job, watches it and ends it.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/reigenrun/binaries.h"
#include "client/cli/reigenrun/check_build.h"
#include "client/cli/reigenrun/hostfile.h"
#include "client/cli/reigenrun/job_options.h"
#include "client/cli/reigenrun/launcher.h"
#include "client/cli/reigenrun/options.h"
#include "client/cli/reigenrun/output_router.h"
#include "client/cli/reigenrun/plan.h"
#include "runtime/base/child_process.h"
#include "runtime/base/hmac.h"
#include "runtime/base/interfaces.h"
#include "runtime/base/runtime_folder.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"

namespace reigen::run {
namespace {

constexpr int kUsageCode = 2;
constexpr size_t kJobNameBytes = 6;
constexpr size_t kSecretBytes = 32;

std::string CurrentFolder() {
  const std::unique_ptr<char, void (*)(void*)> folder(getcwd(nullptr, 0), &std::free);
  return folder ? folder.get() : "/";
}

std::string Hex(const std::string& bytes) {
  std::string text;
  for (unsigned char c : bytes) {
    for (int half : {c >> 4, c & 15}) text += "0123456789abcdef"[half];
  }
  return text;
}

StatusOr<Surroundings> LookAround() {
  Surroundings around;
  REIGEN_ASSIGN_OR_RETURN(around.interfaces, ListInterfaceAddresses());
  around.machine = DescribeThisMachine(around.interfaces);
  around.resolve = ResolveByDns;
  around.environment = CurrentEnvironment();
  around.working_directory = CurrentFolder();
  return around;
}

StatusOr<int> RunJob(const Options& options) {
  REIGEN_ASSIGN_OR_RETURN(Surroundings around, LookAround());
  REIGEN_ASSIGN_OR_RETURN(const std::string own_path, OwnPath());
  const std::string bin = FindVariable(around.environment, "REIGEN_BIN");
  REIGEN_ASSIGN_OR_RETURN(around.worker_path,
                          FindProgramOfOurs(own_path, bin, "reigen-worker", "worker"));
  REIGEN_ASSIGN_OR_RETURN(const std::string coordinator_path,
                          FindProgramOfOurs(own_path, bin, "reigen-coordinator", "coordinator"));
  std::string hostfile_text;
  if (!options.hostfile.empty()) {
    REIGEN_ASSIGN_OR_RETURN(hostfile_text, ReadHostfile(options.hostfile));
  }
  REIGEN_ASSIGN_OR_RETURN(Plan plan, MakePlan(options, hostfile_text, around));
  REIGEN_ASSIGN_OR_RETURN(const double scale, ParseTimeoutScale(FindVariable(
                                                  around.environment, "REIGEN_TIMEOUT_SCALE")));
  UniqueFd signals = BlockSignals();
  REIGEN_ASSIGN_OR_RETURN(
      std::unique_ptr<OutputRouter> router,
      OutputRouter::Create(plan.size, options.output_folder, options.timestamps));
  const std::string base = RuntimeBase("");
  SweepRuntimeFolders(base);
  const std::string job = Hex(RandomBytes(kJobNameBytes));
  const JobNames names{job, RandomBytes(kSecretBytes), RuntimeFolderPath(base, job + "-c")};
  Launcher launcher(std::move(plan), names,
                    {.coordinator_path = coordinator_path,
                     .verbose = options.verbose,
                     .timeout_scale = scale},
                    std::move(signals), std::move(router));
  return launcher.Run();
}

// A pipe must not become the stdout of a launcher that was started without one.
void OpenStandardDescriptors() {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) close(fd);
}

int Main(const std::vector<std::string>& arguments) {
  const StatusOr<Parsed> parsed = ParseOptions(arguments);
  if (!parsed.ok()) {
    std::fprintf(stderr, "reigenrun: %s\n(reigenrun --help lists the options)\n",
                 Message(parsed.status()).c_str());
    return kUsageCode;
  }
  if (!parsed->text.empty()) {
    std::fputs(parsed->text.c_str(), stdout);
    return parsed->exit_code;
  }
  if (parsed->options.check_build) {
    std::fputs(CheckBuildText().c_str(), stdout);
    return 0;
  }
  const StatusOr<int> code = RunJob(parsed->options);
  if (code.ok()) return *code;
  std::fprintf(stderr, "reigenrun: %s\n", Message(code.status()).c_str());
  return kUsageCode;
}

}  // namespace

int Run(int argc, char** argv) {
  OpenStandardDescriptors();
  return Main({argv + 1, argv + argc});
}

}  // namespace reigen::run

int main(int argc, char** argv) { return reigen::run::Run(argc, argv); }
