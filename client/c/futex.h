// Sleeping on a 32-bit word, also one in memory shared with another process.
// Unlike a condition variable, a sleep here ends when a signal handler ran.
#ifndef REIGEN_CLIENT_C_FUTEX_H_
#define REIGEN_CLIENT_C_FUTEX_H_

#include <atomic>
#include <cstdint>

#include "runtime/base/clock.h"

namespace reigen::sdk {

enum class Sleep { kWoken, kTimeout, kInterrupted };

// Sleeps while `word` is `seen`, until woken or `deadline` (Time::max(): none).
// kWoken also when the word had changed or without a reason: look again.
Sleep FutexWait(std::atomic<uint32_t>& word, uint32_t seen, Time deadline);
void FutexWakeAll(std::atomic<uint32_t>& word);

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_FUTEX_H_
