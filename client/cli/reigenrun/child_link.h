// A child that speaks frames: the coordinator, a guard, or a remote shell to one.
//
// Threads: one owner.
// Buffers: what the child does not read is kept; messages to it are few and small.
//          What it writes is read when the owner says so.
// Errors:  a child that breaks off or writes no frames closes; how() tells.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_CHILD_LINK_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_CHILD_LINK_H_

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/reigenrun/output_lines.h"
#include "runtime/base/child_process.h"
#include "runtime/base/frame_io.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"

namespace reigen::run {

class ChildLink {
 public:
  // Starts words[0], looked up in this process' PATH, in a session of its own.
  static StatusOr<std::unique_ptr<ChildLink>> Start(const std::vector<std::string>& words);
  ~ChildLink();  // a child that still runs is killed

  void Send(const std::string& payload);
  void CloseInput();
  // SIGCONT to it.
  void Wake();
  // SIGKILL to it and what it started in its session.
  void Kill();

  // The descriptors to wait for now; its frames only with `read`.
  void AddTo(std::vector<pollfd>* entries, bool read) const;
  // Moves what is possible without waiting. Frames are parsed as they come.
  void Progress(bool read);

  std::vector<std::string> TakeFrames();
  std::vector<std::string> TakeErrorLines();
  // The last lines of its stderr, each on a line.
  std::string LastWords() const;

  // It has ended, and all it wrote has been taken over.
  bool closed() const { return exit_.has_value() && !output_.valid(); }
  std::string how() const;

 private:
  ChildLink() = default;
  void ReadFrames();
  void ReadErrors();

  Child child_;
  UniqueFd input_;   // its stdin
  UniqueFd output_;  // its stdout
  UniqueFd errors_;  // its stderr
  std::optional<FrameWriter> writer_;
  std::optional<FrameReader> reader_;
  LineSplitter error_splitter_;
  Tail error_tail_;
  std::vector<std::string> frames_;
  std::vector<std::string> error_lines_;
  std::string bad_;  // why its stdout was given up
  std::optional<ExitStatus> exit_;
};

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_CHILD_LINK_H_
