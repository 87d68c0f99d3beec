#include "client/c/fork_guard.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace reigen::sdk::fork_guard {
namespace {

// Two of a session, and of one that is just ending.
constexpr int kSlots = 16;
constexpr int kFree = -1;

std::atomic<pid_t> owner_pid{0};
std::array<std::atomic<int>, kSlots> fds_plus_one{};  // 0: free

void OnForkInChild() {
  for (auto& slot : fds_plus_one) {
    if (const int fd = slot.exchange(0) - 1; fd >= 0) close(fd);
  }
}

}  // namespace

void Arm() {
  // Not std::call_once, whose variables the library would export.
  [[maybe_unused]] static const bool armed = [] {
    owner_pid.store(getpid());
    return pthread_atfork(nullptr, nullptr, OnForkInChild) == 0;
  }();
}

bool InForkedChild() {
  const pid_t owner = owner_pid.load(std::memory_order_relaxed);
  return owner != 0 && owner != getpid();
}

Watched::Watched(int fd) {
  for (int i = 0; i < kSlots && slot_ == kFree; ++i) {
    int free = 0;
    if (fds_plus_one[i].compare_exchange_strong(free, fd + 1)) slot_ = i;
  }
}

Watched::~Watched() {
  if (slot_ != kFree) fds_plus_one[slot_].store(0);
}

}  // namespace reigen::sdk::fork_guard
