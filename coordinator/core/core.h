// The coordinator without its service: decides everything about a job.
//
//   events (workers' messages, lost streams, the launcher, time)
//        --Step--> membership | plan stream of the epoch | stalls | life
//        --------> actions (entries for workers, words for the launcher, logs)
//
// Threads: one owner. No I/O, no clock: a test is a list of calls.
// Order:   actions are to be carried out in their order.
// Errors:  a worker that sends what none may send loses its stream (DropHost), and
//          that is the loss of its host; nothing sent ends this process.
#ifndef REIGEN_COORDINATOR_CORE_CORE_H_
#define REIGEN_COORDINATOR_CORE_CORE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/core/events.h"
#include "coordinator/core/job_config.h"
#include "coordinator/core/life.h"
#include "coordinator/core/membership.h"
#include "coordinator/core/plan_stream.h"
#include "coordinator/core/stall_inspector.h"
#include "proto/control/control.pb.h"
#include "runtime/base/clock.h"

namespace reigen::coordinator {

class CoordinatorCore {
 public:
  CoordinatorCore(JobConfig config, Time now);

  // Events that came together: what gets ready in them is planned together.
  std::vector<Action> Step(std::vector<Event> events, Time now);
  std::vector<Action> Step(Event event, Time now);

  // The End is among the actions given out: nothing more will come.
  bool ended() const { return life_.ended(); }

  control::JobStatus Status(Time now) const;

 private:
  void Handle(HostMessage& event, Time now);
  void Handle(HostStreamEnded& event, Time now);
  void Handle(HostGone& event, Time now);
  void Handle(Interrupted& event, Time now);
  void Handle(LauncherGone& event, Time now);
  void Handle(Tick&, Time) {}

  reigen::Status HandleMessage(int host, const control::WorkerMessage& message, Time now);
  reigen::Status HandleAttached(int host, const control::Attached& attached, Time now);
  reigen::Status HandleInit(int host, const control::InitRequest& init, Time now);
  reigen::Status HandleLeave(int host, const control::LeaveRequest& leave, Time now);
  reigen::Status HandleRankEnded(int host, const control::RankEnded& ended, Time now);
  reigen::Status HandleLinkLost(int host, const control::LinkLost& lost, Time now);
  reigen::Status HandlePlanFailed(int host, const control::PlanFailed& failed, Time now);

  void NoticePause(Time now);
  void OnTime(Time now);
  void CheckInit(Time now);
  void BeginEpoch(Time now);
  void InspectStalls(Time now);
  void Decide(JobVerdict verdict, Time now, Duration grace = Duration::zero());
  void SendEndIfDue(Time now);

  std::vector<Awaited> AwaitedFor(Duration age, Time now) const;
  std::string StateText() const;
  void FlushEntries();
  void SendToAll(std::shared_ptr<const control::CoordinatorMessage> message);
  void TellNotice(const std::string& level, const std::string& text);
  void Log(bool warning, std::string text);

  const JobConfig config_;
  Membership membership_;
  std::unique_ptr<PlanStream> plan_stream_;  // null before the first epoch
  StallInspector stall_inspector_;
  Life life_;
  Time last_step_{};
  std::vector<Action> actions_;
};

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CORE_CORE_H_
