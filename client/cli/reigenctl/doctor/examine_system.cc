#include <cstdint>
#include <string>

#include "client/cli/reigenctl/doctor/examine.h"
#include "client/cli/reigenctl/doctor/phrases.h"

namespace reigen::ctl {
namespace {

// A worker of one trainer has some thirty descriptors, and a few for each further
// trainer, peer and channel.
constexpr uint64_t kLeastOpenFiles = 256;
constexpr uint64_t kGoodOpenFiles = 1024;
// A lock file, a socket, a few hundred bytes of status.
constexpr uint64_t kLeastFreeBytes = 1 << 20;

Finding System(const std::string& subject) { return {Level::kOk, "system", subject, "", ""}; }

Finding OfMemory(const probe::SystemFacts& facts) {
  Finding finding = System("shared memory");
  finding.text = "memfd works; /dev/shm is not used";
  if (facts.memfd_error.empty()) return finding;
  finding.level = Level::kProblem;
  finding.text = "memfd does not work: " + facts.memfd_error +
                 "; trainers and worker share tensors in such memory";
  finding.remedy =
      "allow memfd_create in the container's seccomp profile, and more memory to its cgroup if "
      "that is what is missing";
  return finding;
}

Finding OfWatching(const probe::SystemFacts& facts) {
  Finding finding = System("processes");
  finding.text = "can be watched (pidfd)";
  if (facts.pidfd_error.empty()) return finding;
  finding.level = Level::kProblem;
  finding.text = "cannot be watched: " + facts.pidfd_error;
  finding.remedy =
      "Linux 5.3 or later; in a container, allow pidfd_open in its seccomp profile (a newer "
      "container engine does)";
  return finding;
}

Finding OfReading(const probe::SystemFacts& facts) {
  Finding finding = System("process_vm_readv");
  const std::string scope =
      facts.ptrace_scope ? " (ptrace_scope " + std::to_string(*facts.ptrace_scope) + ")" : "";
  if (facts.read_child_error.empty()) {
    finding.text = "a worker may read its trainers' memory" + scope +
                   "; nothing needs it: the SDK copies tensors into shared memory";
    return finding;
  }
  finding.level = Level::kNote;
  finding.text = "a worker may not read its trainers' memory" + scope + ": " +
                 facts.read_child_error +
                 "; nothing needs it: the SDK copies tensors into shared memory";
  return finding;
}

Finding OfFolder(const probe::FolderFacts& folder) {
  Finding finding = System("runtime folder");
  finding.text = folder.path + ": writable, " + Bytes(folder.free_bytes) + " free";
  const bool full = folder.error.empty() && folder.free_bytes < kLeastFreeBytes;
  if (folder.error.empty() && !full) return finding;
  finding.level = Level::kProblem;
  finding.text = folder.path + ": " +
                 (full ? "only " + Bytes(folder.free_bytes) + " are free" : folder.error) +
                 "; sockets of jobs lie there";
  finding.remedy =
      "make room there, make it writable for you, or name another local folder with a short path "
      "by REIGEN_RUNTIME_DIR";
  return finding;
}

Finding OfOpenFiles(const probe::SystemFacts& facts) {
  Finding finding = System("open files");
  finding.text = std::to_string(facts.open_files) + " in a process";
  if (facts.open_files >= kGoodOpenFiles) return finding;
  const bool few = facts.open_files < kLeastOpenFiles;
  finding.level = few ? Level::kProblem : Level::kNote;
  finding.text = "only " + finding.text + (few ? "" : ": enough for a few ranks on a few hosts");
  finding.remedy = "`ulimit -n " + std::to_string(kGoodOpenFiles) + "` before the job" +
                   (facts.open_files_most >= kGoodOpenFiles
                        ? ""
                        : ", once `nofile` is raised in /etc/security/limits.d (here it may be " +
                              std::to_string(facts.open_files_most) + " at most)");
  return finding;
}

}  // namespace

void ExamineSystem(const probe::SystemFacts& facts, Report* report) {
  Finding kernel = System("kernel");
  kernel.text = facts.kernel;
  report->findings.push_back(kernel);
  report->findings.push_back(OfMemory(facts));
  report->findings.push_back(OfWatching(facts));
  report->findings.push_back(OfReading(facts));
  report->findings.push_back(OfFolder(facts.runtime_folder));
  report->findings.push_back(OfOpenFiles(facts));
}

}  // namespace reigen::ctl
