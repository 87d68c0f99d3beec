#include "worker/spawn/trainers.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "runtime/base/child_process.h"
#include "runtime/base/process_tree.h"
#include "worker/spawn/serve_fds.h"
#include "worker/spawn/trainer_spec.h"

namespace reigen::worker {
namespace {

// Longest walk from a process up to its trainer; only a torn picture of /proc
// could make a longer one.
constexpr int kMaxDepth = 1000;

// The file to start on this host, or an error that says what is missing and how
// to set it.
StatusOr<std::string> ProgramOf(const launch::GuardStart& start) {
  const std::string host = start.host().name();
  const std::string name = start.argv(0);
  if (!start.program().empty()) {
    if (access(start.program().c_str(), X_OK) == 0) return start.program();
    return NotFound("host " + host + ": cannot start " + start.program() + ": " +
                    WhyNoProgram(start.program(), "", "/") +
                    " there. The launcher's PATH finds \"" + name +
                    "\" under this path, so every host must have it there: install it, give the"
                    " path of one that all hosts have, or write `env " + name +
                    " ...` to let each host look it up");
  }
  const std::vector<std::string> environment(start.environment().begin(),
                                             start.environment().end());
  const std::string path = FindVariable(environment, "PATH");
  const std::string program = FindProgram(name, path, start.working_directory());
  if (!program.empty()) return program;
  return NotFound("host " + host + ": cannot start \"" + name + "\": " +
                  WhyNoProgram(name, path, start.working_directory()) +
                  ". Give its path on that host, or set PATH for reigenrun: hosts look"
                  " programs up with the launcher's PATH");
}

void KillAndReap(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

}  // namespace

StatusOr<std::unique_ptr<Trainers>> Trainers::Start(const launch::GuardStart& start,
                                                    const std::string& socket_path) {
  REIGEN_RETURN_IF_ERROR(CheckGuardStart(start));
  // Closed on every way out, so that the guard sees the end of each stream.
  std::vector<UniqueFd> outputs;
  for (int i = 0; i < start.host().ranks_size(); ++i) {
    outputs.emplace_back(StdoutFd(i));
    outputs.emplace_back(StderrFd(i));
  }
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    return ErrnoStatus(StatusCode::kInternal, "PR_SET_CHILD_SUBREAPER");
  }
  REIGEN_ASSIGN_OR_RETURN(const std::string program, ProgramOf(start));

  std::unique_ptr<Trainers> trainers(new Trainers);
  for (int i = 0; i < start.host().ranks_size(); ++i) {
    ChildSpec spec{.path = program,
                   .argv = {start.argv().begin(), start.argv().end()},
                   .environment = TrainerEnvironment(start, i, socket_path),
                   .working_directory = start.working_directory(),
                   .fds = {-1, StdoutFd(i), StderrFd(i)},
                   .die_with_parent = true};
    StatusOr<Child> child = StartChild(spec);
    if (!child.ok()) {
      for (const Trainer& t : trainers->trainers_) KillAndReap(t.pid);
      return Annotate(child.status(), "host " + start.host().name());
    }
    trainers->trainers_.push_back(
        {start.host().ranks(i), child->pid, /*running=*/true, std::move(child->pidfd)});
  }
  return trainers;
}

std::vector<TrainerEnd> Trainers::Reap() {
  std::vector<TrainerEnd> ended;
  int status = 0;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    for (Trainer& t : trainers_) {
      if (t.pid != pid || !t.running) continue;
      t.running = false;
      const ExitStatus exit = DecodeWaitStatus(status);
      ended.push_back({t.rank, pid, exit.code, exit.signal,
                       "process " + std::to_string(pid) + ": " + ToString(exit)});
    }
  }
  return ended;
}

std::optional<int> Trainers::RankOf(pid_t pid) const {
  for (int depth = 0; depth < kMaxDepth && pid > 1; ++depth) {
    const auto info = ReadProcess(pid);
    if (!info) return std::nullopt;
    for (const Trainer& t : trainers_) {
      // The session finds a process whose parents have ended meanwhile: it was
      // adopted by this one.
      if (t.pid == pid || t.pid == info->session) return t.rank;
    }
    pid = info->parent;
  }
  return std::nullopt;
}

bool Trainers::Descends(pid_t pid, int rank) const { return RankOf(pid) == rank; }

void Trainers::TerminateAll() const {
  for (const ProcessInfo& p : Descendants(getpid())) {
    SignalProcess(p, SIGTERM);
    SignalProcess(p, SIGCONT);  // a stopped one could not act on it
  }
}

void Trainers::KillAll() const {
  for (const ProcessInfo& p : Descendants(getpid())) SignalProcess(p, SIGKILL);
}

bool Trainers::AnyLeft() const { return !Descendants(getpid()).empty(); }

}  // namespace reigen::worker
