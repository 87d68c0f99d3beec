#include "coordinator/core/core.h"

#include <utility>

#include "coordinator/core/text.h"
#include "runtime/base/epoch_text.h"

namespace reigen::coordinator {
namespace {

// Steps come at least every 500 ms; a longer gap is this process's own (stopped,
// starved), in which it heard of nobody.
constexpr Duration kPause = seconds(1);
// From a rank's shutdown to the end of its process: an interpreter on its way out.
constexpr Duration kExitAfterLeave = seconds(2);

}  // namespace

CoordinatorCore::CoordinatorCore(JobConfig config, Time now)
    : config_(std::move(config)),
      membership_(config_, now),
      stall_inspector_(config_.stall_warning, config_.stall_shutdown),
      last_step_(now) {}

std::vector<Action> CoordinatorCore::Step(Event event, Time now) {
  std::vector<Event> events;
  events.push_back(std::move(event));
  return Step(std::move(events), now);
}

std::vector<Action> CoordinatorCore::Step(std::vector<Event> events, Time now) {
  NoticePause(now);
  for (Event& event : events) {
    std::visit([&](auto& e) { Handle(e, now); }, event);
  }
  OnTime(now);
  FlushEntries();
  SendEndIfDue(now);
  return std::exchange(actions_, {});
}

void CoordinatorCore::NoticePause(Time now) {
  const Duration gap = now - std::exchange(last_step_, now);
  if (gap >= kPause) membership_.Forgive(gap);
}

void CoordinatorCore::Handle(HostStreamEnded& event, Time now) {
  membership_.Detach(event.host);
  Decide({.code = kHostLost,
          .reason = membership_.HostText(event.host) + ": worker lost: " + event.reason,
          .host = event.host},
         now);
}

void CoordinatorCore::Handle(HostGone& event, Time now) {
  if (event.host < 0 || static_cast<size_t>(event.host) >= membership_.hosts().size()) {
    Decide({.code = event.code, .reason = event.reason}, now);
    return;
  }
  Decide({.code = event.code,
          .reason = membership_.HostText(event.host) + ": " + event.reason,
          .host = event.host},
         now);
}

void CoordinatorCore::Handle(Interrupted& event, Time now) {
  Decide({.code = 128 + event.signal,
          .reason = "interrupted by signal " + std::to_string(event.signal)},
         now);
}

void CoordinatorCore::Handle(LauncherGone&, Time now) {
  Decide({.code = kLauncherGone, .reason = "the launcher is gone"}, now);
}

// Inits that wait: met by all ranks, or never to be met.
void CoordinatorCore::CheckInit(Time now) {
  if (life_.verdict()) return;
  if (membership_.AllInInit()) {
    BeginEpoch(now);
    return;
  }
  const std::vector<int> waiting = membership_.InState(RankState::kInInit);
  const std::vector<int> gone = membership_.InState(RankState::kEnded);
  if (waiting.empty() || gone.empty()) return;
  auto message = std::make_shared<control::CoordinatorMessage>();
  const std::string reason =
      "init: " + RankText(gone) + " ended and will not call init, " + RankText(waiting) +
      (waiting.size() == 1 ? " waits" : " wait") + " for it";
  message->mutable_init_failed()->set_reason(reason);
  std::vector<int> hosts;
  for (int rank : waiting) {
    const int host = membership_.ranks()[rank].host;
    if (hosts.empty() || hosts.back() != host) hosts.push_back(host);
  }
  membership_.AbandonInit(now);
  FlushEntries();
  actions_.push_back(SendToHosts{std::move(hosts), std::move(message)});
  TellNotice("error", reason);
}

// The launcher hears of the epoch before any worker does.
void CoordinatorCore::BeginEpoch(Time now) {
  FlushEntries();
  membership_.BeginEpoch(now);
  plan_stream_ = std::make_unique<PlanStream>(config_, membership_);
  TellLauncher tell;
  launch::EpochBegun& begun = *tell.message.mutable_epoch();
  begun.set_epoch(membership_.epoch());
  for (size_t host = 0; host < membership_.hosts().size(); ++host) {
    begun.add_hosts(static_cast<int>(host));
  }
  actions_.push_back(std::move(tell));
  Log(false, "epoch=" + EpochText(membership_.epoch()) + " begins: all " +
                 std::to_string(membership_.ranks().size()) + " ranks have called init");
}

void CoordinatorCore::OnTime(Time now) {
  if (life_.ended()) return;
  for (int host : membership_.Silent(now, config_.dead_after)) {
    Decide({.code = kHostLost,
            .reason = membership_.HostText(host) + ": worker lost: no sign of life for " +
                      SecondsText(now - membership_.hosts()[host].heard),
            .host = host},
           now);
  }
  if (auto complaint = life_.OverdueComplaint(config_.dead_after, now)) {
    Decide(std::move(*complaint), now);
  }
  if (auto suspect = life_.OverdueSuspect(!membership_.AnyLeaving(), kExitAfterLeave, now)) {
    Decide(std::move(*suspect), now);
  }
  InspectStalls(now);
  if (membership_.AllFinished()) Decide({.code = 0, .reason = "all ranks ended well"}, now);
}

void CoordinatorCore::InspectStalls(Time now) {
  if (!stall_inspector_.enabled() || life_.verdict()) return;
  if (plan_stream_ != nullptr) {
    for (const std::string& name : plan_stream_->TakeFailed()) stall_inspector_.Forget(name);
  }
  const std::vector<Awaited> awaited = AwaitedFor(stall_inspector_.MinAge(), now);
  const StallReport report = stall_inspector_.Inspect(awaited, membership_, now);
  if (!report.recovered.empty()) TellNotice("info", report.recovered);
  if (!report.warning.empty()) TellNotice("warning", report.warning);
  if (report.shutdown.empty()) return;
  plan_stream_->FailAll(local::ResultCode::kAborted, report.shutdown, now);
  Decide({.code = kStalled, .reason = report.shutdown}, now, config_.stall_grace);
}

std::vector<Awaited> CoordinatorCore::AwaitedFor(Duration age, Time now) const {
  std::vector<Awaited> awaited;
  if (plan_stream_ != nullptr) awaited = plan_stream_->AwaitedFor(age, now);
  if (auto init = AwaitedInit(membership_); init && now - init->since >= age) {
    awaited.push_back(std::move(*init));
  }
  return awaited;
}

void CoordinatorCore::Decide(JobVerdict verdict, Time now, Duration grace) {
  if (!life_.Decide(std::move(verdict), now + grace)) return;
  const JobVerdict& decided = *life_.verdict();
  Log(false, "the job ends: " + decided.reason);  // the launcher says it to the user
  TellLauncher tell;
  launch::Verdict& told = *tell.message.mutable_verdict();
  told.set_code(decided.code);
  told.set_reason(decided.reason);
  told.set_rank(decided.rank);
  told.set_host(decided.host);
  actions_.push_back(std::move(tell));
}

void CoordinatorCore::SendEndIfDue(Time now) {
  const bool all_ended =
      membership_.InState(RankState::kEnded).size() == membership_.ranks().size();
  if (!life_.TakeEnd(all_ended, now)) return;
  auto message = std::make_shared<control::CoordinatorMessage>();
  message->mutable_end()->set_code(life_.verdict()->code);
  message->mutable_end()->set_reason(life_.verdict()->reason);
  SendToAll(std::move(message));
}

void CoordinatorCore::FlushEntries() {
  if (plan_stream_ == nullptr || life_.ended()) return;
  for (auto& message : plan_stream_->Flush()) SendToAll(std::move(message));
}

void CoordinatorCore::SendToAll(std::shared_ptr<const control::CoordinatorMessage> message) {
  actions_.push_back(SendToHosts{membership_.AttachedHosts(), std::move(message)});
}

void CoordinatorCore::TellNotice(const std::string& level, const std::string& text) {
  TellLauncher tell;
  tell.message.mutable_notice()->set_level(level);
  tell.message.mutable_notice()->set_text(text);
  actions_.push_back(std::move(tell));
}

void CoordinatorCore::Log(bool warning, std::string text) {
  actions_.push_back(WriteLog{warning, std::move(text)});
}

}  // namespace reigen::coordinator
