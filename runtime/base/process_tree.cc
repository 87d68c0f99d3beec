#include "runtime/base/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

#include "runtime/base/unique_fd.h"

namespace reigen {

std::optional<ProcessInfo> ParseProcessStat(const std::string& text) {
  // "PID (NAME) STATE PPID PGRP SESSION ...": the name may hold anything, so the
  // fields after it count from the last parenthesis.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  ProcessInfo info;
  std::from_chars(text.data(), text.data() + text.size(), info.pid);
  unsigned long long start = 0;
  const int found = std::sscanf(text.c_str() + name_end + 1,
                                " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d"
                                " %*d %*d %llu",
                                &info.state, &info.parent, &info.session, &start);
  if (found != 4 || info.pid <= 0) return std::nullopt;
  info.start_ticks = start;
  return info;
}

std::optional<ProcessInfo> ReadProcess(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  char text[1024];
  const ssize_t n = read(fd.get(), text, sizeof text);
  if (n <= 0) return std::nullopt;
  return ParseProcessStat(std::string(text, static_cast<size_t>(n)));
}

std::vector<ProcessInfo> ListProcesses() {
  std::vector<ProcessInfo> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), &closedir);
  if (!folder) return all;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string name = entry->d_name;
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    if (auto info = ReadProcess(pid)) all.push_back(*info);
  }
  return all;
}

std::vector<ProcessInfo> DescendantsIn(const std::vector<ProcessInfo>& all, pid_t root) {
  std::unordered_multimap<pid_t, const ProcessInfo*> children;
  for (const ProcessInfo& p : all) children.emplace(p.parent, &p);
  std::vector<ProcessInfo> found;
  std::unordered_set<pid_t> seen{root};
  std::vector<pid_t> todo{root};
  while (!todo.empty()) {
    const pid_t parent = todo.back();
    todo.pop_back();
    const auto [begin, end] = children.equal_range(parent);
    for (auto it = begin; it != end; ++it) {
      const ProcessInfo& p = *it->second;
      if (!seen.insert(p.pid).second) continue;  // a torn picture may have a cycle
      todo.push_back(p.pid);
      if (p.state != 'Z' && p.state != 'X') found.push_back(p);
    }
  }
  return found;
}

std::vector<ProcessInfo> Descendants(pid_t root) { return DescendantsIn(ListProcesses(), root); }

bool SignalProcess(const ProcessInfo& process, int signal) {
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  if (!pidfd.valid()) return false;
  // The pidfd holds whoever has the number now: is it still the one that was seen?
  const auto now = ReadProcess(process.pid);
  if (!now || now->start_ticks != process.start_ticks) return false;
  return syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0;
}

}  // namespace reigen
