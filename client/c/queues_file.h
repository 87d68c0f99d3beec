// The mapping of the queues file that the worker made (proto/local/local.h).
#ifndef REIGEN_CLIENT_C_QUEUES_FILE_H_
#define REIGEN_CLIENT_C_QUEUES_FILE_H_

#include <cstddef>
#include <memory>

#include "client/c/result.h"
#include "proto/local/local.h"

namespace reigen::sdk {

class QueuesFile {
 public:
  // Maps and checks it. `fd` may be closed afterwards.
  static Result Map(int fd, std::unique_ptr<QueuesFile>* out);
  ~QueuesFile();
  QueuesFile(const QueuesFile&) = delete;
  QueuesFile& operator=(const QueuesFile&) = delete;

  local::QueueHeader& header() const { return *header_; }
  // Of a position of the queue.
  local::Slot& submission(uint32_t position) const {
    return submission_[position % local::kSubmissionSlots];
  }
  local::Slot& completion(uint32_t position) const {
    return completion_[position % local::kCompletionSlots];
  }
  // Of workers that take device arenas.
  local::Slot& command(uint32_t position) const {
    return command_[position % local::kCommandSlots];
  }
  local::Slot& done(uint32_t position) const { return done_[position % local::kDoneSlots]; }

 private:
  explicit QueuesFile(std::byte* base);

  std::byte* const base_;
  local::QueueHeader* const header_;
  local::Slot* const submission_;
  local::Slot* const completion_;
  local::Slot* const command_;
  local::Slot* const done_;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_QUEUES_FILE_H_
