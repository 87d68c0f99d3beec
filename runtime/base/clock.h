// Time is a parameter of every decision; only shells call Now().
#ifndef REIGEN_RUNTIME_BASE_CLOCK_H_
#define REIGEN_RUNTIME_BASE_CLOCK_H_

#include <chrono>

namespace reigen {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Duration = Clock::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;

Time Now();

inline double ToSeconds(Duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_CLOCK_H_
