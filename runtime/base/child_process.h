// Starts a program as a child with exactly the descriptors it is to have.
//
// Threads: any; with `die_with_parent` the calling thread must never end before
//          the process does (the kernel ties PDEATHSIG to it). The child runs only
//          async-signal-safe calls before exec: other threads are no matter, and
//          no fork handlers of libraries run.
// Errors:  what stopped the child before or at exec comes back as the Status of
//          Start: NotFound (no such program or folder), else Internal.
#ifndef REIGEN_RUNTIME_BASE_CHILD_PROCESS_H_
#define REIGEN_RUNTIME_BASE_CHILD_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"

namespace reigen {

struct ChildSpec {
  std::string path{};                      // a file, not looked up
  std::vector<std::string> argv{};         // with argv[0]
  std::vector<std::string> environment{};  // "NAME=value"
  std::string working_directory{};         // empty: the parent's
  // The child's descriptor i is fds[i] of the parent; all others are closed.
  // -1 = /dev/null.
  std::vector<int> fds{};
  bool new_session = true;
  bool die_with_parent = false;  // SIGKILL when the calling thread ends
};

struct Child {
  pid_t pid = 0;
  UniqueFd pidfd;  // readable when it has ended
};

// Signal mask and handlers of the child are the default ones.
StatusOr<Child> StartChild(const ChildSpec& spec);

// How a process ended: wait status `status` of waitpid.
struct ExitStatus {
  int code = 0;    // exit code, or 128 + signal
  int signal = 0;  // 0 if it exited
};
ExitStatus DecodeWaitStatus(int status);
// "exit 7", "signal 9 (Killed)".
std::string ToString(const ExitStatus& exit);

// Collects a child that has ended; none: it runs.
std::optional<ExitStatus> TryReap(pid_t pid);

// The file that execvp would start for `name` with this PATH and this current
// folder; empty: none. A name with a slash stands for itself.
std::string FindProgram(const std::string& name, const std::string& path_variable,
                        const std::string& working_directory);

// Why FindProgram found none: "no such program in PATH=...", "it is a folder".
std::string WhyNoProgram(const std::string& name, const std::string& path_variable,
                         const std::string& working_directory);

// Value of NAME in a list of "NAME=value"; empty if absent.
std::string FindVariable(const std::vector<std::string>& environment, const std::string& name);

// This process' environment, as it is.
std::vector<std::string> CurrentEnvironment();

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_CHILD_PROCESS_H_
