#include "worker/guard/tree_end.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace reigen::worker {

TreeHooks RealTreeHooks() {
  return {[] { return Descendants(getpid()); }, [](const ProcessInfo& process, int signal) {
            return SignalProcess(process, signal);
          }};
}

TreeEnd::TreeEnd(TreeHooks hooks, pid_t last, Duration grace, Time now)
    : hooks_(std::move(hooks)), last_(last), deadline_(now + grace) {}

void TreeEnd::StartKilling(Time now) {
  phase_ = Phase::kKilling;
  deadline_ = now + kKillLimit;
}

void TreeEnd::Hurry(Time now) {
  if (phase_ == Phase::kTerminating) StartKilling(now);
}

void TreeEnd::Step(Time now) {
  if (phase_ == Phase::kDone) return;
  const std::vector<ProcessInfo> left = hooks_.list();
  if (phase_ == Phase::kTerminating) {
    const bool only_last = std::all_of(left.begin(), left.end(),
                                       [&](const ProcessInfo& p) { return p.pid == last_; });
    if (!terminated_) {
      terminated_ = true;
      for (const ProcessInfo& p : left) {
        if (p.pid == last_) continue;
        hooks_.signal(p, SIGTERM);
        hooks_.signal(p, SIGCONT);  // a stopped one could not act on it
      }
    }
    if (!only_last && now < deadline_) return;
    StartKilling(now);
  }
  if (left.empty()) {
    phase_ = Phase::kDone;
    return;
  }
  for (const ProcessInfo& p : left) hooks_.signal(p, SIGKILL);
  if (now < deadline_) return;
  for (const ProcessInfo& p : left) unkillable_.push_back(p.pid);
  phase_ = Phase::kDone;
}

}  // namespace reigen::worker
