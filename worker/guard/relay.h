// Everything the guard says to the launcher: frames of the trainers' output and of
// the worker's log, made from their pipes.
//
// Threads: one owner.
// Buffers: what the launcher has not taken is kept up to kMaxPendingBytes; then
//          the pipes are left unread until it has, and the trainers wait.
// Errors:  a launcher that is gone makes the rest void: pipes are read and dropped.
#ifndef REIGEN_WORKER_GUARD_RELAY_H_
#define REIGEN_WORKER_GUARD_RELAY_H_

#include <poll.h>

#include <cstddef>
#include <string>
#include <vector>

#include "proto/launch/launch.pb.h"
#include "runtime/base/frame_io.h"
#include "runtime/base/unique_fd.h"

namespace reigen::worker {

class Relay {
 public:
  static constexpr size_t kMaxPendingBytes = 4 << 20;

  explicit Relay(int out_fd) : writer_(out_fd) {}

  // From now on these pipes are read; `ranks[i]` has outputs[2i], outputs[2i + 1].
  void Watch(std::vector<UniqueFd> outputs, std::vector<int> ranks, UniqueFd log);

  void Send(const launch::FromGuard& message);
  void Log(const std::string& text);

  // The descriptors to wait for now.
  void AddTo(std::vector<pollfd>* entries) const;
  // Reads and writes what is possible without waiting.
  void Progress();

  // Reads each pipe once more until it is empty for now; those whose writers are
  // still there count as ended. False: the launcher must take something first.
  bool Drain();

  bool all_sent() const { return launcher_gone_ || writer_.pending_bytes() == 0; }
  size_t pending_bytes() const { return launcher_gone_ ? 0 : writer_.pending_bytes(); }

 private:
  struct Source {
    UniqueFd fd;
    int rank = -1;  // -1: the worker's log
    bool is_stderr = false;
    std::string line;  // log: the start of a line
  };
  enum class Got { kData, kNothing, kEnd };

  bool HasRoom() const { return launcher_gone_ || writer_.pending_bytes() < kMaxPendingBytes; }
  Got ReadOnce(Source* source);
  void TakeLog(Source* source, const char* data, size_t bytes);
  void End(Source* source);
  void Flush();

  FrameWriter writer_;
  bool launcher_gone_ = false;
  std::vector<Source> sources_;
  size_t next_ = 0;  // whose turn it is to be read
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_GUARD_RELAY_H_
