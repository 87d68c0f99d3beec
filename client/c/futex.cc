#include "client/c/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace reigen::sdk {
namespace {

// With a time limit the kernel never restarts the call after a signal handler,
// whatever SA_RESTART says; so there always is one.
constexpr Duration kLongest = std::chrono::hours(1);

}  // namespace

Sleep FutexWait(std::atomic<uint32_t>& word, uint32_t seen, Time deadline) {
  const Time now = Now();
  if (deadline <= now) return Sleep::kTimeout;
  const Duration left = std::min<Duration>(deadline - now, kLongest);
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
  timespec limit;
  limit.tv_sec = nanoseconds / 1'000'000'000;
  limit.tv_nsec = nanoseconds % 1'000'000'000;
  if (syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, seen, &limit, nullptr,
              0) == 0) {
    return Sleep::kWoken;
  }
  if (errno == EINTR) return Sleep::kInterrupted;
  if (errno == ETIMEDOUT && Now() >= deadline) return Sleep::kTimeout;
  return Sleep::kWoken;
}

void FutexWakeAll(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace reigen::sdk
