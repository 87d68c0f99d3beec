// The trainer's end of the submission queue.
//
// Threads: one producer at a time (the owner locks); Interrupt from any.
// Waits:   for space, until the worker took requests, the session ended or the
//          time limit passed.
#ifndef REIGEN_CLIENT_C_SUBMISSION_QUEUE_H_
#define REIGEN_CLIENT_C_SUBMISSION_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "client/c/queues_file.h"
#include "client/c/result.h"
#include "runtime/base/clock.h"

namespace reigen::sdk {

class SubmissionQueue {
 public:
  // `ended` turns true when the worker is gone. `wake_fd` is the worker's eventfd.
  SubmissionQueue(QueuesFile& file, const std::atomic<bool>& ended, int wake_fd,
                  Duration space_limit)
      : file_(file), ended_(ended), wake_fd_(wake_fd), space_limit_(space_limit) {}

  // Publishes the pieces of a name, one by one.
  Result DefineName(uint32_t id, const std::string& name);
  // Publishes all slots at once: a request and its tensors.
  Result Publish(std::span<const local::Slot> slots);
  // Tells the worker that there is something, if it sleeps.
  void WakeWorker();
  // Wakes a producer that waits for space, after `ended` was set. False: none.
  bool Interrupt();

 private:
  Result WaitForSpace(uint32_t slots);

  QueuesFile& file_;
  const std::atomic<bool>& ended_;
  const int wake_fd_;
  const Duration space_limit_;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_SUBMISSION_QUEUE_H_
