// The worker of a host: one loop over trainers, coordinator and runtime.
#ifndef REIGEN_WORKER_SERVE_SERVER_H_
#define REIGEN_WORKER_SERVE_SERVER_H_

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "proto/launch/launch.pb.h"
#include "runtime/base/clock.h"
#include "runtime/base/mailbox.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"
#include "runtime/collective/executor.h"
#include "worker/coordinator_link/coordinator_link.h"
#include "worker/coordinator_link/reach.h"
#include "worker/core/worker_core.h"
#include "worker/event_loop.h"
#include "worker/gpu/gate.h"
#include "worker/gpu/gpu_pool.h"
#include "worker/gpu/gpu_scratch.h"
#include "worker/serve/network.h"
#include "worker/session/closer.h"
#include "worker/session/sessions.h"
#include "worker/spawn/trainers.h"

namespace reigen::worker {

//   reaching --address found--> greeting --Welcome--> serving --EndJob--> ending --> done
//
// A turn: look at what came (sessions, stream, links, clock), let the core decide, do
// what it says, show the trainers what is complete; then sleep until something comes.
//
// Threads: one, which starts the trainers and therefore never ends before the process.
//          The executor's threads do memory work, gRPC's fill a mailbox, a helper
//          looks for the coordinator's address.
// Errors:  what a trainer or a peer does wrong ends as a report to the coordinator.
//          Run ends by itself only if the coordinator or the guard is lost.
class Server : private SessionHandler {
 public:
  struct Options {
    launch::GuardStart start;
    std::string folder;  // worker.sock goes there
    int heartbeat_fd = -1;
  };

  explicit Server(Options options);
  ~Server();

  // The process' exit code (spawn/serve_fds.h).
  int Run();

 private:
  enum class Phase { kReaching, kGreeting, kServing, kEnding, kDone };
  struct Gone {
    Time report_at{};
    std::string detail;
  };

  // --- server.cc: set-up and loop
  Status SetUp();
  void SetUpGpus();
  void StartReaching();
  void Turn();
  void Settle(Time now);
  void Sleep();
  std::optional<Time> NextDeadline() const;
  void OnTimers(Time now);
  void Beat(Time now);
  // To the guard, for the job's message.
  void SayCause(const std::string& cause);
  void GiveUpBecause(int code, const std::string& reason);

  // --- server_events.cc: what comes in
  void OnReached();
  Status OpenNetwork(const Reached& reached);
  void OnLinkEvents();
  void OnWelcome(const control::Welcome& welcome);
  void OnBroken(const std::string& reason);
  void StartTrainers();
  void ReapTrainers();
  void ReportEnded(int local, int code, int signal, const std::string& detail);
  void OnAttached(int local) override;
  void OnRequest(int local, Request request) override;
  void OnShutdown(int local) override;
  void OnGone(int local, pid_t pid, const std::string& reason) override;

  // --- server_actions.cc: what the core wants
  void Apply(std::vector<Action> actions);
  void Do(Send& action);
  void Do(BeginEpoch& action);
  void Do(RefuseInit& action);
  void Do(StartBucket& action);
  void Do(Complete& action);
  void Do(Release& action);
  void Do(EndJob& action);
  Duration Grace() const;
  void TerminateUnlessRaising(Time now);
  void ContinueEnding(Time now);
  void SendFinishedOnce();

  const Options options_;
  const std::vector<int> ranks_;
  Phase phase_ = Phase::kReaching;
  int exit_code_ = 0;
  bool guard_gone_ = false;
  bool welcomed_ = false;  // messages may be sent

  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<collective::WorkExecutor> executor_;
  Closer closer_;
  std::unique_ptr<GpuScratch> gpu_scratch_;
  std::unique_ptr<GpuPool> gpus_;
  std::unique_ptr<Gate> gate_;  // of the buckets
  std::unique_ptr<Network> network_;
  std::unique_ptr<Sessions> sessions_;
  std::unique_ptr<CoordinatorLink> link_;
  std::unique_ptr<Trainers> trainers_;
  WorkerCore core_;
  std::deque<Event> events_;  // for the core

  UniqueFd stop_reaching_;
  Mailbox<StatusOr<Reached>> reached_;
  std::thread reaching_;
  std::vector<std::string> link_addresses_;
  std::string network_reason_;
  std::string transport_reason_;

  Duration heartbeat_{};
  Time next_beat_{};
  Time busy_beat_{};  // when the next is due unless the core is quiet
  std::optional<Time> coordinator_lost_at_;
  std::map<int, Gone> gone_;         // by local rank: its session ended, it has not
  std::vector<bool> reported_;       // per local rank: its end
  std::vector<int> pidfds_;          // per local rank; -1: ended
  bool finished_sent_ = false;
  bool more_requests_ = false;
  bool bucket_started_ = false;  // since the engine last moved on
  Time raise_until_{};  // while ending: SIGTERM waits so long for trainers to end
  std::optional<Time> terminating_since_;
  Time next_kill_{};
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SERVE_SERVER_H_
