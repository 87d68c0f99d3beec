#include "client/c/command_queue.h"

#include <sys/eventfd.h>

#include <cstring>

#include "client/c/futex.h"

namespace reigen::sdk {
namespace {

constexpr Duration kWakeAgain = milliseconds(1);
constexpr Duration kWakeLimit = seconds(10);

}  // namespace

bool CommandQueue::Take(std::vector<local::Slot>* out) {
  local::QueueHeader& header = file_.header();
  const uint32_t head = header.command_head.load();
  uint32_t tail = header.command_tail.load(std::memory_order_relaxed);
  if (head - tail > local::kCommandSlots) return false;
  while (tail != head) out->push_back(file_.command(tail++));
  header.command_tail.store(tail);
  return true;
}

bool CommandQueue::PutDone(const local::DoneSlot& done) {
  local::QueueHeader& header = file_.header();
  const uint32_t head = header.done_head.load(std::memory_order_relaxed);
  if (head - header.done_tail.load() >= local::kDoneSlots) return false;
  std::memcpy(file_.done(head).bytes, &done, sizeof(done));
  header.done_head.store(head + 1);  // seq_cst: before the look at worker_sleeping
  return true;
}

void CommandQueue::WakeWorker() {
  local::QueueHeader& header = file_.header();
  if (header.worker_sleeping.load() == 0) return;
  header.worker_sleeping.store(0);
  eventfd_write(wake_fd_, 1);
}

void CommandQueue::Sleep(uint32_t seen, Time deadline) {
  local::QueueHeader& header = file_.header();
  asleep_.store(true);
  header.trainer_sleeping.store(1);
  if (!interrupted_.exchange(false) && header.command_head.load() == seen) {
    FutexWait(header.command_head, seen, deadline);
  }
  header.trainer_sleeping.store(0);
  asleep_.store(false);
}

// A wake is lost between a sleeper's last look and its sleep: so it is repeated.
void CommandQueue::Interrupt() {
  interrupted_.store(true);
  const Time limit = Now() + kWakeLimit;
  std::atomic<uint32_t> pause{0};
  while (interrupted_.load() && asleep_.load() && Now() < limit) {
    FutexWakeAll(file_.header().command_head);
    FutexWait(pause, 0, Now() + kWakeAgain);
  }
}

}  // namespace reigen::sdk
