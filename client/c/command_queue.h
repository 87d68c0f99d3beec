// The trainer's end of the command queue and of the answers to it.
//
// Threads: one, the command thread; Interrupt from any.
// Waits:   Interrupt, at most for the sleeper to wake.
#ifndef REIGEN_CLIENT_C_COMMAND_QUEUE_H_
#define REIGEN_CLIENT_C_COMMAND_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "client/c/queues_file.h"
#include "client/c/result.h"
#include "proto/local/local.h"
#include "runtime/base/clock.h"

namespace reigen::sdk {

class CommandQueue {
 public:
  // `wake_fd` is the worker's eventfd.
  CommandQueue(QueuesFile& file, int wake_fd) : file_(file), wake_fd_(wake_fd) {}

  // What a sleep is relative to; read it before Take.
  uint32_t head() const { return file_.header().command_head.load(); }
  // Copies all there is to the end of `out`: whole commands, unchecked. False: the worker
  // wrote what no queue can hold.
  bool Take(std::vector<local::Slot>* out);
  // False: more answers than commands, a worker's bug.
  bool PutDone(const local::DoneSlot& done);
  // After PutDone: tells the worker, if it sleeps.
  void WakeWorker();
  // Sleeps until the head is no longer `seen`, or Interrupt. Returns at once if there was
  // one since the last sleep.
  void Sleep(uint32_t seen, Time deadline);
  // Ends a sleep, this one or the next.
  void Interrupt();

 private:
  QueuesFile& file_;
  const int wake_fd_;
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> asleep_{false};
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_COMMAND_QUEUE_H_
