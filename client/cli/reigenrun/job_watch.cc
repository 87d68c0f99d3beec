#include "client/cli/reigenrun/job_watch.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace reigen::run {
namespace {

// Not those that only say the same, as the log of a worker that gave its cause does.
std::string WithLastWords(const std::string& text, const std::string& last_words) {
  if (last_words.empty() || last_words.find(text) != std::string::npos) return text;
  return text + "; its last words:\n" + last_words;
}

std::string SecondsText(Duration d) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", ToSeconds(d));
  return text;
}

// OnTime comes at least every second; a longer gap is this process's own (stopped,
// starved), in which it heard of nobody.
constexpr Duration kPause = seconds(2);
// However limits are scaled: a guard shows life every half second, whatever they are.
constexpr Duration kLeastGuardSilence = seconds(2);

void Append(Actions* to, Actions more) {
  for (Action& a : more) to->push_back(std::move(a));
}

}  // namespace

JobWatch::Limits JobWatch::Limits::Scaled(double scale,
                                          const launch::JobOptions& scaled_already) {
  const auto of = [](double s) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s));
  };
  return {of(scaled_already.start_timeout_seconds()), of(2 * scale),
          of(scaled_already.coordinator_timeout_seconds()),
          std::max(of(10 * scale), kLeastGuardSilence), of(4 * scale), of(9 * scale)};
}

JobWatch::JobWatch(std::vector<std::string> host_names, Limits limits, Time now)
    : limits_(limits),
      start_deadline_(now + limits.start),
      silence_deadline_(now + std::max(limits.silence, limits.start)),
      last_time_(now) {
  for (std::string& name : host_names) hosts_.push_back({.name = std::move(name)});
}

void JobWatch::OnCoordinatorAlive(Time now) { silence_deadline_ = now + limits_.silence; }

void JobWatch::OnHostAlive(int host, Time now) { hosts_[host].heard = now; }

Actions JobWatch::OnHostReady(int host) {
  if (hosts_[host].state == HostState::kStarting) hosts_[host].state = HostState::kReady;
  return {};
}

Actions JobWatch::OnHostLost(int host, const std::string& reason, const std::string& last_words,
                             Time now) {
  const std::string text = WithLastWords(reason, last_words);
  if (!std::exchange(hosts_[host].lost, true)) {  // the first cause counts
    hosts_[host].cause = reason;
    hosts_[host].cause_with_words = text;
  }
  CompleteVerdict();
  return Lose(host, text, now);
}

Actions JobWatch::OnHostDone(int host, const launch::GuardDone& done, Time now) {
  hosts_[host].state = HostState::kDone;
  for (const int64_t pid : done.unkillable_pids()) {
    left_behind_.push_back("host " + hosts_[host].name + ": process " + std::to_string(pid) +
                           " cannot be killed and is left");
  }
  if (!done.worker_lost() || hosts_[host].lost) return {};
  return OnHostLost(host, done.reason(), "", now);
}

Actions JobWatch::OnHostClosed(int host, const std::string& how, const std::string& last_words,
                               Time now) {
  const bool done = hosts_[host].state == HostState::kDone;
  const bool starting = hosts_[host].state == HostState::kStarting;
  hosts_[host].state = HostState::kClosed;
  Actions actions;
  if (!done) {
    const std::string what = starting ? "its guard did not come up" : "the connection to its guard is lost";
    actions = Lose(host, WithLastWords(what + " (" + how + ")", last_words), now);
  }
  Append(&actions, CloseCoordinatorIfAlone(now));
  return actions;
}

Actions JobWatch::Lose(int host, const std::string& reason, Time now) {
  if (verdict_) return {};  // a consequence
  const std::string text = "host " + hosts_[host].name + " was lost: " + reason;
  Propose(kCodeHostLost, text, host, now);
  // The coordinator puts the host's name before it.
  return {{.kind = Action::Kind::kTellHostLost, .host = host, .text = reason, .code = kCodeHostLost}};
}

// The coordinator is asked; if it does not answer, this is the verdict.
void JobWatch::Propose(int code, const std::string& reason, int host, Time now) {
  if (own_) return;  // the first cause counts
  own_.emplace();
  own_->set_code(code);
  own_->set_reason(reason);
  own_->set_rank(-1);
  own_->set_host(host);
  own_deadline_ = now + limits_.answer;
}

Actions JobWatch::OnVerdict(const launch::Verdict& verdict, Time now) {
  if (verdict_) return {};
  verdict_ = verdict;
  CompleteVerdict();
  stop_deadline_ = now + limits_.stop;
  kill_deadline_ = now + limits_.kill;
  Actions actions;
  // Of a host that is not up yet no worker may ever hear of the end.
  if (verdict.code() != 0 && !stopped_) actions = Stop(HostState::kStarting);
  Append(&actions, CloseCoordinatorIfAlone(now));
  return actions;
}

void JobWatch::CompleteVerdict() {
  if (!verdict_ || verdict_->code() != kCodeHostLost) return;
  const int host = verdict_->host();
  if (host < 0 || static_cast<size_t>(host) >= hosts_.size()) return;
  const Host& lost = hosts_[host];
  if (verdict_->reason().find(lost.cause) != std::string::npos) return;
  verdict_->set_reason(verdict_->reason() + "; " + lost.cause_with_words);
}

Actions JobWatch::Decide(int code, const std::string& reason, int host, bool stop_now, Time now) {
  launch::Verdict verdict;
  verdict.set_code(code);
  verdict.set_reason(reason);
  verdict.set_rank(-1);
  verdict.set_host(host);
  stopped_ = stopped_ || stop_now;
  Actions actions = OnVerdict(verdict, now);
  if (stop_now) Append(&actions, StopAll(/*hurry=*/false));
  return actions;
}

Actions JobWatch::OnCoordinatorClosed(const std::string& how, const std::string& last_words,
                                      Time now) {
  coordinator_closed_ = true;
  if (verdict_) return {};
  // What it was told and did not live to answer is the first cause.
  if (own_) return Decide(own_->code(), own_->reason(), own_->host(), /*stop_now=*/true, now);
  return Decide(kCodeCoordinatorLost, WithLastWords("the coordinator was lost (" + how + ")", last_words),
                -1, /*stop_now=*/true, now);
}

Actions JobWatch::OnSignal(int signal, Time now) {
  if (interrupted_) {
    // The second one: no more patience.
    stopped_ = true;
    kill_deadline_ = std::min(kill_deadline_, now + limits_.stop);
    return StopAll(/*hurry=*/true);
  }
  interrupted_ = true;
  if (verdict_) return {};
  Propose(128 + signal, "ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")",
          -1, now);
  if (coordinator_closed_) return {};
  return {{.kind = Action::Kind::kTellInterrupt, .code = signal}};
}

Actions JobWatch::Stop(HostState state, bool hurry) const {
  Actions actions;
  for (size_t h = 0; h < hosts_.size(); ++h) {
    if (hosts_[h].state != state) continue;
    actions.push_back({.kind = Action::Kind::kStopHost, .host = static_cast<int>(h),
                       .text = "the job has ended", .hurry = hurry});
  }
  return actions;
}

Actions JobWatch::StopAll(bool hurry) const {
  Actions actions = Stop(HostState::kStarting, hurry);
  Append(&actions, Stop(HostState::kReady, hurry));
  return actions;
}

Actions JobWatch::LoseSilentHosts(Time now) {
  Actions actions;
  for (size_t h = 0; h < hosts_.size(); ++h) {
    Host& host = hosts_[h];
    if (host.state != HostState::kReady || host.lost || !host.heard) continue;
    if (now - *host.heard < limits_.guard_silence) continue;
    const int number = static_cast<int>(h);
    const std::string why = "its guard, or the connection to it, has stopped: no sign of life for " +
                            SecondsText(limits_.guard_silence);
    Append(&actions, OnHostLost(number, why, "", now));
    // A stopped one could not end what it started.
    actions.push_back({.kind = Action::Kind::kWakeHost, .host = number});
  }
  return actions;
}

Actions JobWatch::OnTime(Time now) {
  Actions actions;
  const Duration gap = now - std::exchange(last_time_, now);
  if (gap >= kPause) {
    for (Host& host : hosts_) host.heard = host.heard ? std::optional(now) : std::nullopt;
  }
  if (!verdict_) actions = LoseSilentHosts(now);
  if (!verdict_ && now >= start_deadline_) {
    for (size_t h = 0; h < hosts_.size(); ++h) {
      if (hosts_[h].state != HostState::kStarting) continue;
      hosts_[h].state = HostState::kReady;  // told once
      Append(&actions, Lose(static_cast<int>(h), "it did not come up in time (--start-timeout)", now));
    }
  }
  if (!verdict_ && now >= silence_deadline_) {
    actions.push_back({.kind = Action::Kind::kKillCoordinator});
    Append(&actions, Decide(kCodeCoordinatorLost,
                            "the coordinator has stopped: no sign of life for " +
                                SecondsText(limits_.silence),
                            -1, /*stop_now=*/true, now));
  }
  if (!verdict_ && own_ && now >= own_deadline_) {
    Append(&actions, Decide(own_->code(), own_->reason(), own_->host(), /*stop_now=*/true, now));
  }
  if (verdict_ && !stopped_ && now >= stop_deadline_) {
    stopped_ = true;
    Append(&actions, StopAll(/*hurry=*/false));
  }
  if (verdict_ && !killed_ && now >= kill_deadline_) {
    killed_ = true;
    for (size_t h = 0; h < hosts_.size(); ++h) {
      if (hosts_[h].state == HostState::kClosed) continue;
      if (hosts_[h].state != HostState::kDone) {
        left_behind_.push_back("host " + hosts_[h].name +
                               ": its guard did not end in time; it ends by itself what it started");
      }
      actions.push_back({.kind = Action::Kind::kKillHost, .host = static_cast<int>(h)});
    }
    if (!coordinator_closed_) actions.push_back({.kind = Action::Kind::kKillCoordinator});
  }
  return actions;
}

bool JobWatch::AllHostsClosed() const {
  return std::all_of(hosts_.begin(), hosts_.end(),
                     [](const Host& h) { return h.state == HostState::kClosed; });
}

Actions JobWatch::CloseCoordinatorIfAlone(Time now) {
  if (!AllHostsClosed() || coordinator_closed_ || coordinator_told_to_close_ || !verdict_) return {};
  coordinator_told_to_close_ = true;
  kill_deadline_ = std::min(kill_deadline_, now + limits_.answer);
  return {{.kind = Action::Kind::kCloseCoordinator}};
}

bool JobWatch::finished() const { return verdict_ && AllHostsClosed() && coordinator_closed_; }

Time JobWatch::deadline() const {
  Time next = Time::max();
  if (!verdict_) {
    const bool starting = std::any_of(hosts_.begin(), hosts_.end(), [](const Host& h) {
      return h.state == HostState::kStarting;
    });
    if (starting) next = std::min(next, start_deadline_);
    if (own_) next = std::min(next, own_deadline_);
    next = std::min(next, silence_deadline_);
    for (const Host& host : hosts_) {
      if (host.state != HostState::kReady || host.lost || !host.heard) continue;
      next = std::min(next, *host.heard + limits_.guard_silence);
    }
  } else {
    if (!stopped_) next = std::min(next, stop_deadline_);
    if (!killed_) next = std::min(next, kill_deadline_);
  }
  return next;
}

}  // namespace reigen::run
