#include "client/c/queues_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <string>

namespace reigen::sdk {

QueuesFile::QueuesFile(std::byte* base)
    : base_(base),
      header_(reinterpret_cast<local::QueueHeader*>(base)),
      submission_(reinterpret_cast<local::Slot*>(base + local::SubmissionOffset())),
      completion_(reinterpret_cast<local::Slot*>(base + local::CompletionOffset())),
      command_(reinterpret_cast<local::Slot*>(base + local::CommandOffset())),
      done_(reinterpret_cast<local::Slot*>(base + local::DoneOffset())) {}

QueuesFile::~QueuesFile() { munmap(base_, local::QueuesBytes()); }

Result QueuesFile::Map(int fd, std::unique_ptr<QueuesFile>* out) {
  struct stat file = {};
  if (fstat(fd, &file) != 0) return FailErrno(REIGEN_INTERNAL, "the worker's queues file");
  if (static_cast<uint64_t>(file.st_size) < local::QueuesBytes()) {
    return Fail(REIGEN_INTERNAL, "the worker's queues file is short");
  }
  void* base = mmap(nullptr, local::QueuesBytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return FailErrno(REIGEN_RESOURCE_EXHAUSTED, "mapping the queues file");
  out->reset(new QueuesFile(static_cast<std::byte*>(base)));
  const local::QueueHeader& header = (*out)->header();
  if (header.magic != local::kMagic || header.version != local::kVersion ||
      header.submission_slots != local::kSubmissionSlots ||
      header.completion_slots != local::kCompletionSlots) {
    return Fail(REIGEN_INTERNAL, "the worker's queues file is of another version");
  }
  return Ok();
}

}  // namespace reigen::sdk
