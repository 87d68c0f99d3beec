// The processes below one, as /proc shows them. With PR_SET_CHILD_SUBREAPER set in
// the root, whatever its descendants leave behind stays below it.
//
// Threads: any. Costs a walk over /proc: not for hot paths.
#ifndef REIGEN_RUNTIME_BASE_PROCESS_TREE_H_
#define REIGEN_RUNTIME_BASE_PROCESS_TREE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reigen {

struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  char state = '?';  // 'Z' and 'X': it has ended
  uint64_t start_ticks = 0;  // tells two processes of one pid apart
};

// One line of /proc/PID/stat; none: it is not one.
std::optional<ProcessInfo> ParseProcessStat(const std::string& text);
std::optional<ProcessInfo> ReadProcess(pid_t pid);
std::vector<ProcessInfo> ListProcesses();

// Those of `all` below `root` that have not ended; `root` is not among them.
std::vector<ProcessInfo> DescendantsIn(const std::vector<ProcessInfo>& all, pid_t root);
std::vector<ProcessInfo> Descendants(pid_t root);

// Sends `signal` to that very process, not to a later one with its number.
// False: it has ended or may not be signalled.
bool SignalProcess(const ProcessInfo& process, int signal);

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_PROCESS_TREE_H_
