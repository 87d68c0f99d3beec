#include "runtime/probe/system.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/runtime_folder.h"
#include "runtime/base/unique_fd.h"
#include "runtime/probe/sysfs.h"

namespace reigen::probe {
namespace {

constexpr off_t kProbeBytes = 4096;
// As long as a job's longest: "0123456789ab-h4095", then "/worker.sock".
constexpr char kLongestName[] = "doctor-probe-h4095";
constexpr char kSocketName[] = "/worker.sock";

std::string ErrnoText(const char* call) { return std::string(call) + ": " + std::strerror(errno); }

// What a worker does for an arena.
std::string TryMemfd() {
  const UniqueFd fd(memfd_create("reigen-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return ErrnoText("memfd_create");
  if (const int error = posix_fallocate(fd.get(), 0, kProbeBytes); error != 0) {
    return std::string("posix_fallocate: ") + std::strerror(error);
  }
  void* const memory =
      mmap(nullptr, kProbeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return ErrnoText("mmap");
  munmap(memory, kProbeBytes);
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return ErrnoText("F_ADD_SEALS");
  }
  return "";
}

std::string TryPidfd() {
  const UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  return fd.valid() ? "" : ErrnoText("pidfd_open");
}

// As a worker would read a trainer, which is its child.
std::string TryReadChild() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoText("pipe");
  const UniqueFd child_end(ends[0]);
  UniqueFd own_end(ends[1]);
  const int value = 42;
  const pid_t child = fork();
  if (child < 0) return ErrnoText("fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(own_end.get());
    char byte;
    _exit(static_cast<int>(read(child_end.get(), &byte, 1)));
  }
  int copy = 0;
  iovec local{&copy, sizeof copy};
  iovec remote{const_cast<int*>(&value), sizeof value};
  const ssize_t got = process_vm_readv(child, &local, 1, &remote, 1, 0);
  std::string error;
  if (got != static_cast<ssize_t>(sizeof copy)) {
    error = got < 0 ? ErrnoText("process_vm_readv") : "process_vm_readv: short";
  }
  own_end.Reset();
  waitpid(child, nullptr, 0);
  return error;
}

}  // namespace

FolderFacts ProbeFolder(const std::string& path) {
  FolderFacts folder{.path = path, .error = "", .free_bytes = 0};
  struct statvfs space {};
  if (statvfs(path.c_str(), &space) != 0) {
    folder.error = std::strerror(errno);
    return folder;
  }
  folder.free_bytes = static_cast<uint64_t>(space.f_bavail) * space.f_frsize;
  const std::string longest = RuntimeFolderPath(path, kLongestName) + kSocketName;
  if (longest.size() >= sizeof(sockaddr_un::sun_path)) {
    folder.error = "its path is too long for a socket (" + longest + ")";
    return folder;
  }
  std::string name = path + "/reigen-doctor-XXXXXX";
  const UniqueFd file(mkostemp(name.data(), O_CLOEXEC));
  if (!file.valid()) {
    folder.error = std::strerror(errno);
    return folder;
  }
  const std::string bytes(kProbeBytes, '\0');
  if (write(file.get(), bytes.data(), bytes.size()) != kProbeBytes) {
    folder.error = errno != 0 ? std::strerror(errno) : "it is full";
  }
  unlink(name.c_str());
  return folder;
}

SystemFacts ProbeSystem(const std::string& runtime_base) {
  SystemFacts facts;
  utsname names{};
  if (uname(&names) == 0) {
    facts.host_name = names.nodename;
    facts.kernel = std::string(names.sysname) + " " + names.release + " " + names.machine;
  }
  facts.runtime_folder = ProbeFolder(runtime_base);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    facts.open_files = limit.rlim_cur;
    facts.open_files_most = limit.rlim_max;
  }
  facts.memfd_error = TryMemfd();
  facts.pidfd_error = TryPidfd();
  facts.read_child_error = TryReadChild();
  facts.ptrace_scope = FirstNumber("/proc/sys/kernel/yama/ptrace_scope");
  return facts;
}

}  // namespace reigen::probe
