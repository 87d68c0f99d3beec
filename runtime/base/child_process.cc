#include "runtime/base/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

extern char** environ;

namespace reigen {
namespace {

enum class Stage : int { kDescriptors, kFolder, kProgram, kOrphan };

struct Failure {
  Stage stage;
  int error;
};

// Everything the child needs, made before fork: it must not allocate.
struct Prepared {
  const ChildSpec* spec;
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::vector<int> fds;  // copies above the target numbers
  int failure_fd;        // likewise; closed by exec
  pid_t parent;
};

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void Fail(int fd, Stage stage) {
  const Failure failure{stage, errno};
  (void)!write(fd, &failure, sizeof failure);
  _exit(127);
}

void ResetSignals() {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = SIG_DFL;
  for (int s = 1; s < NSIG; ++s) sigaction(s, &action, nullptr);  // refused for some: no matter
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void RunChild(const Prepared& p) {
  if (p.spec->die_with_parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != p.parent) Fail(p.failure_fd, Stage::kOrphan);
  }
  if (p.spec->new_session) setsid();
  const int count = static_cast<int>(p.fds.size());
  for (int i = 0; i < count; ++i) {
    if (dup2(p.fds[i], i) < 0) Fail(p.failure_fd, Stage::kDescriptors);
  }
  if (p.failure_fd > count) close_range(count, p.failure_fd - 1, 0);
  close_range(p.failure_fd + 1, ~0U, 0);
  if (!p.spec->working_directory.empty() && chdir(p.spec->working_directory.c_str()) != 0) {
    Fail(p.failure_fd, Stage::kFolder);
  }
  ResetSignals();
  execve(p.spec->path.c_str(), p.argv.data(), p.environment.data());
  Fail(p.failure_fd, Stage::kProgram);
}

Status ToStatus(const ChildSpec& spec, const Failure& failure) {
  const StatusCode code = failure.error == ENOENT || failure.error == ENOTDIR
                              ? StatusCode::kNotFound
                              : StatusCode::kInternal;
  switch (failure.stage) {
    case Stage::kFolder:
      return ErrnoStatus(code, "working directory " + spec.working_directory, failure.error);
    case Stage::kProgram:
      return ErrnoStatus(code, "cannot start " + spec.path, failure.error);
    case Stage::kOrphan:
      return Internal("cannot start " + spec.path + ": its parent has ended");
    case Stage::kDescriptors:
      break;
  }
  return ErrnoStatus(code, "descriptors of " + spec.path, failure.error);
}

bool IsExecutable(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

}  // namespace

StatusOr<Child> StartChild(const ChildSpec& spec) {
  UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return ErrnoStatus(StatusCode::kInternal, "/dev/null");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(StatusCode::kResourceExhausted, "pipe");
  UniqueFd failure_read(ends[0]), failure_low(ends[1]);

  // Copies above the target numbers, so that dup2 overwrites none it still needs.
  const int count = static_cast<int>(spec.fds.size());
  std::vector<UniqueFd> copies;
  Prepared p{&spec, Pointers(spec.argv), Pointers(spec.environment), {}, -1, getpid()};
  for (int fd : spec.fds) {
    copies.emplace_back(fcntl(fd < 0 ? null.get() : fd, F_DUPFD_CLOEXEC, count));
    if (!copies.back().valid()) return ErrnoStatus(StatusCode::kResourceExhausted, "descriptors");
    p.fds.push_back(copies.back().get());
  }
  UniqueFd failure_write(fcntl(failure_low.get(), F_DUPFD_CLOEXEC, count));
  if (!failure_write.valid()) return ErrnoStatus(StatusCode::kResourceExhausted, "descriptors");
  failure_low.Reset();
  p.failure_fd = failure_write.get();

  // All signals wait until the child has its own handlers.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = _Fork();
  if (pid == 0) RunChild(p);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return ErrnoStatus(StatusCode::kResourceExhausted, "fork", error);

  failure_write.Reset();
  Failure failure;
  ssize_t n;
  do {
    n = read(failure_read.get(), &failure, sizeof failure);
  } while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(sizeof failure)) {
    waitpid(pid, nullptr, 0);
    return ToStatus(spec, failure);
  }
  Child child{pid, UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)))};
  if (child.pidfd.valid()) return child;
  const Status status = ErrnoStatus(StatusCode::kInternal, "pidfd_open");
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return status;
}

ExitStatus DecodeWaitStatus(int status) {
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

std::string ToString(const ExitStatus& exit) {
  if (exit.signal == 0) return "exit " + std::to_string(exit.code);
  return "signal " + std::to_string(exit.signal) + " (" + strsignal(exit.signal) + ")";
}

std::optional<ExitStatus> TryReap(pid_t pid) {
  int status;
  if (waitpid(pid, &status, WNOHANG) != pid) return std::nullopt;
  return DecodeWaitStatus(status);
}

std::string FindProgram(const std::string& name, const std::string& path_variable,
                        const std::string& working_directory) {
  const auto absolute = [&](const std::string& path) {
    return path.starts_with("/") ? path : working_directory + "/" + path;
  };
  if (name.empty()) return "";
  if (name.find('/') != std::string::npos) {
    const std::string path = absolute(name);
    return IsExecutable(path) ? path : "";
  }
  for (size_t begin = 0; begin <= path_variable.size();) {
    const size_t end = std::min(path_variable.find(':', begin), path_variable.size());
    const std::string folder = path_variable.substr(begin, end - begin);
    const std::string path = absolute((folder.empty() ? "." : folder) + "/" + name);
    if (IsExecutable(path)) return path;
    begin = end + 1;
  }
  return "";
}

std::string WhyNoProgram(const std::string& name, const std::string& path_variable,
                         const std::string& working_directory) {
  if (name.find('/') == std::string::npos) return "no such program in PATH=" + path_variable;
  const std::string path = name.starts_with("/") ? name : working_directory + "/" + name;
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? "no such program" : std::strerror(errno);
  }
  if (S_ISDIR(info.st_mode)) return "it is a folder";
  return S_ISREG(info.st_mode) ? "it is not executable (chmod +x makes it so)" : "it is no program";
}

std::string FindVariable(const std::vector<std::string>& environment, const std::string& name) {
  const std::string head = name + "=";
  for (const std::string& entry : environment) {
    if (entry.starts_with(head)) return entry.substr(head.size());
  }
  return "";
}

std::vector<std::string> CurrentEnvironment() {
  std::vector<std::string> entries;
  for (char** e = environ; *e != nullptr; ++e) entries.emplace_back(*e);
  return entries;
}

}  // namespace reigen
