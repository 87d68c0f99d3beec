// Says once, and again at each interval, what has waited too long and for whom;
// says when it came after all; says when the wait ends the job.
//
// A block lists everything that has waited for half the limit or more, so that
// what stalls together stands together.
//
// Threads: as an int. Time is a parameter.
#ifndef REIGEN_COORDINATOR_CORE_STALL_INSPECTOR_H_
#define REIGEN_COORDINATOR_CORE_STALL_INSPECTOR_H_

#include <map>
#include <string>
#include <vector>

#include "coordinator/core/awaited.h"
#include "coordinator/core/membership.h"
#include "runtime/base/clock.h"

namespace reigen::coordinator {

struct StallReport {
  std::string warning;    // a block of lines, or empty
  std::string recovered;  // a line, or empty
  std::string shutdown;   // why the job ends, or empty
};

class StallInspector {
 public:
  // A zero `warning` switches everything off, a zero `shutdown` the end of the job.
  StallInspector(Duration warning, Duration shutdown) : warning_(warning), shutdown_(shutdown) {}

  // What has waited less than this is of no interest to Inspect.
  Duration MinAge() const { return warning_ / 2; }
  bool enabled() const { return warning_ > Duration::zero(); }

  // `awaited`: all that waits, by name.
  StallReport Inspect(const std::vector<Awaited>& awaited, const Membership& membership, Time now);

  // It failed: nothing to recover.
  void Forget(const std::string& name) { warned_.erase(name); }

 private:
  struct Warned {
    Time since{};
    Time at{};
    std::vector<int> missing;
  };

  std::string Recovered(const std::vector<Awaited>& awaited, Time now);

  const Duration warning_;
  const Duration shutdown_;
  Time last_warning_{};
  std::map<std::string, Warned> warned_;
};

// "a: have 0, missing 1 (host 1 (b)), for 2.1 s".
std::string AwaitedText(const Awaited& awaited, const Membership& membership, Time now);

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CORE_STALL_INSPECTOR_H_
