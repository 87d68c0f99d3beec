// The small parent of a host's worker. It makes the trainers' output pipes and the
// host's folder, starts the worker, passes output and log on to the launcher, and
// ends the whole tree for any of these reasons: the worker ended, its heartbeat
// stopped, the launcher said Stop or is gone, the guard got a signal.
//
//   serving --a reason--> ending --none is left--> draining --> closing --> exit
//                         (TreeEnd)                (Relay)     (GuardDone is sent)
//
// Threads: one; no library threads either: it must work when all else fails.
// Buffers: see Relay. It never waits for the launcher while it serves or ends.
// Errors:  what keeps the worker from starting is the reason in GuardDone.
#ifndef REIGEN_WORKER_GUARD_GUARD_H_
#define REIGEN_WORKER_GUARD_GUARD_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/launch/launch.pb.h"
#include "runtime/base/clock.h"
#include "runtime/base/frame_io.h"
#include "runtime/base/runtime_folder.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"
#include "worker/guard/relay.h"
#include "worker/guard/serve_process.h"
#include "worker/guard/tree_end.h"

namespace reigen::worker {

class Guard {
 public:
  struct Options {
    int in_fd = 0;
    int out_fd = 1;
    std::string program;  // started as `program serve ...`
    TreeHooks hooks;
  };

  explicit Guard(Options options);

  // Runs to the end; the program's exit code.
  int Run();

 private:
  enum class Phase { kServing, kEnding, kDraining, kClosing };

  StatusOr<launch::GuardStart> ReadStart();
  Status Begin(const launch::GuardStart& start);
  void Loop();
  // One round of the phase's own work. False: the guard is finished.
  bool Step(Time now);
  int PollTimeoutMs(Time now) const;
  void WaitForSomething(Time now);

  void TakeSignals(Time now);
  void TakeInput(Time now);
  void TakeHeartbeat(Time now);
  bool TakeBeats(std::string_view bytes);
  void ShowLife(Time now);
  void Reap(Time now);
  void BeginEnd(const std::string& reason, bool lost, Time now);
  void SendDone();
  Duration DrainLimit() const;

  Options options_;
  FrameReader input_;
  bool input_open_ = true;
  Relay relay_;
  UniqueFd signals_;

  Duration grace_{};
  Duration dead_after_{};
  RuntimeFolder folder_;
  ServeProcess serve_;
  bool ready_ = false;   // the first heartbeat came
  Time beat_deadline_{};
  std::string cause_;  // why the worker ends, in its own words; empty: not said
  bool in_cause_ = false;
  Time next_alive_{};

  Phase phase_ = Phase::kServing;
  std::string reason_;
  bool lost_ = false;
  std::optional<TreeEnd> tree_;
  Time progress_{};  // draining, closing: when the launcher last took something
  size_t pending_bytes_ = 0;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_GUARD_GUARD_H_
