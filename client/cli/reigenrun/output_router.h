// Where the trainers' output goes: to the launcher's own stdout and stderr in whole
// lines, to files byte for byte, and its end is kept for messages.
//
// Threads: one owner; the writing is done by OutputQueue's threads.
// Buffers: throttled() asks the owner to read no more for now.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_OUTPUT_ROUTER_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_OUTPUT_ROUTER_H_

#include <memory>
#include <string>
#include <vector>

#include "client/cli/reigenrun/output_lines.h"
#include "client/cli/reigenrun/output_queue.h"
#include "proto/launch/launch.pb.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"

namespace reigen::run {

class OutputRouter {
 public:
  // `folder`: DIR/rank.N/stdout and stderr are written too; empty: no files.
  static StatusOr<std::unique_ptr<OutputRouter>> Create(int size, const std::string& folder,
                                                        bool timestamps);

  void OnOutput(const launch::Output& output);
  // A line of the launcher's own, to stderr.
  void Note(const std::string& line);
  // No more will come: lines without an end are written.
  void FinishStreams();

  bool throttled() const;
  bool Idle() const;
  const Tail& stderr_tail(int rank) const { return streams_[2 * rank + 1].tail; }

 private:
  struct Stream {
    LineSplitter splitter;
    Tail tail;
    UniqueFd file;
  };

  OutputRouter(int size, bool timestamps);
  void Write(StreamName name, const std::vector<Piece>& pieces);
  OutputQueue& ConsoleOf(bool is_stderr);
  void TellFailures();

  bool timestamps_;
  std::vector<Stream> streams_;  // 2 * rank + is_stderr
  OutputFormatter stdout_format_;
  OutputFormatter stderr_format_;
  bool same_console_;  // both go to one file: one queue keeps lines whole
  OutputQueue stdout_queue_;
  OutputQueue stderr_queue_;
  OutputQueue files_queue_;
};

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_OUTPUT_ROUTER_H_
