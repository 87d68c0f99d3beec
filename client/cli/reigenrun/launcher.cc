#include "client/cli/reigenrun/launcher.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "runtime/base/runtime_folder.h"

namespace reigen::run {
namespace {

// How often a launcher that reads nothing because its output is stuck looks again.
constexpr int kThrottledPollMs = 20;
constexpr int kLongestPollMs = 1000;
// Of output that is left at the end of a job that a signal ended.
constexpr Duration kInterruptedDrain = seconds(3);

std::vector<std::string> NamesOf(const Plan& plan) {
  std::vector<std::string> names;
  for (const HostPlan& h : plan.hosts) names.push_back(h.placed.name);
  return names;
}

std::string LastWords(const ChildLink* link, const Tail& log) {
  std::string text = link == nullptr ? "" : link->LastWords();
  for (const std::string& line : log.lines()) text += (text.empty() ? "    " : "\n    ") + line;
  return text;
}

}  // namespace

UniqueFd BlockSignals() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (int s : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, s);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
}

Launcher::Launcher(Plan plan, JobNames names, Settings settings, UniqueFd signals,
                   std::unique_ptr<OutputRouter> router)
    : plan_(std::move(plan)),
      names_(std::move(names)),
      settings_(std::move(settings)),
      router_(std::move(router)),
      watch_(NamesOf(plan_),
             JobWatch::Limits::Scaled(settings_.timeout_scale, plan_.job_options), Now()),
      signals_(std::move(signals)),
      guards_(plan_.hosts.size()),
      guard_closed_(plan_.hosts.size(), false),
      host_logs_(plan_.hosts.size()) {}

int Launcher::Run() {
  if (settings_.verbose) {
    for (const std::string& line : Describe(plan_)) Say(line);
  }
  const Status started = StartCoordinator();
  if (!started.ok()) {
    Say(Message(started));
    DrainOutput(/*interrupted=*/false);
    return kCodeCoordinatorLost;
  }
  // The remote shells come up while the coordinator does.
  for (size_t h = 0; h < guards_.size(); ++h) StartGuard(static_cast<int>(h));
  while (!watch_.finished()) Wait();
  router_->FinishStreams();
  RemoveRuntimeFolder(names_.coordinator_folder);  // if it could not do it itself
  Explain();
  DrainOutput(watch_.interrupted());
  return watch_.verdict().code();
}

Status Launcher::StartCoordinator() {
  REIGEN_ASSIGN_OR_RETURN(coordinator_, ChildLink::Start({settings_.coordinator_path}));
  launch::ToCoordinator message;
  *message.mutable_start() = MakeCoordinatorStart(plan_, names_);
  TellCoordinator(message);
  return OkStatus();
}

void Launcher::StartGuard(int host) {
  StatusOr<std::unique_ptr<ChildLink>> guard = ChildLink::Start(plan_.hosts[host].guard_words);
  if (guard.ok()) {
    guards_[host] = std::move(*guard);
    return;
  }
  guard_closed_[host] = true;
  Do(watch_.OnHostClosed(host, Message(guard.status()), "", Now()));
}

// While the user's terminal takes nothing, trainers may have to wait; at the end
// everything is taken, for the end has a limit.
bool Launcher::Reading() const { return !router_->throttled() || watch_.ending(); }

void Launcher::Wait() {
  const bool reading = Reading();
  std::vector<pollfd> entries = {{signals_.get(), POLLIN, 0}};
  if (!coordinator_closed_) coordinator_->AddTo(&entries, /*read=*/true);
  for (const auto& guard : guards_) {
    if (guard) guard->AddTo(&entries, reading);
  }
  const auto left = std::chrono::ceil<milliseconds>(
      std::clamp<Duration>(watch_.deadline() - Now(), Duration::zero(), seconds(10)));
  const int timeout_ms = std::min(static_cast<int>(left.count()),
                                  reading ? kLongestPollMs : kThrottledPollMs);
  poll(entries.data(), entries.size(), timeout_ms);

  TakeSignals();
  TakeFromCoordinator();
  for (size_t h = 0; h < guards_.size(); ++h) {
    if (!guards_[h] || guard_closed_[h]) continue;
    guards_[h]->Progress(reading);
    if (!reading) watch_.OnHostAlive(static_cast<int>(h), Now());
    TakeFromHost(static_cast<int>(h));
  }
  Do(watch_.OnTime(Now()));
}

void Launcher::TakeSignals() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    Do(watch_.OnSignal(static_cast<int>(info.ssi_signo), Now()));
  }
}

void Launcher::TakeFromCoordinator() {
  if (coordinator_closed_) return;
  coordinator_->Progress(/*read=*/true);
  for (const std::string& line : coordinator_->TakeErrorLines()) router_->Note(line);
  for (const std::string& bytes : coordinator_->TakeFrames()) {
    launch::FromCoordinator message;
    if (!message.ParseFromString(bytes)) continue;
    watch_.OnCoordinatorAlive(Now());
    OnMessage(message);
  }
  if (!coordinator_->closed()) return;
  coordinator_closed_ = true;
  Do(watch_.OnCoordinatorClosed(coordinator_->how(), coordinator_->LastWords(), Now()));
}

void Launcher::OnMessage(const launch::FromCoordinator& message) {
  if (message.has_listening()) {
    const auto& addresses = message.listening().addresses();
    for (size_t h = 0; h < guards_.size(); ++h) {
      if (!guards_[h]) continue;
      launch::ToGuard start;
      *start.mutable_start() = MakeGuardStart(plan_, names_, static_cast<int>(h),
                                              {addresses.begin(), addresses.end()});
      guards_[h]->Send(start.SerializeAsString());
    }
  } else if (message.has_notice()) {
    if (settings_.verbose || message.notice().level() != "info") Say(message.notice().text());
  } else if (message.has_verdict()) {
    Do(watch_.OnVerdict(message.verdict(), Now()));
  }
}

void Launcher::TakeFromHost(int host) {
  ChildLink& guard = *guards_[host];
  const std::string& name = plan_.hosts[host].placed.name;
  for (const std::string& line : guard.TakeErrorLines()) {
    if (settings_.verbose) router_->Note(name + ": " + line);
  }
  for (const std::string& bytes : guard.TakeFrames()) {
    launch::FromGuard message;
    if (!message.ParseFromString(bytes)) continue;
    watch_.OnHostAlive(host, Now());
    OnMessage(host, message);
  }
  if (!guard.closed()) return;
  guard_closed_[host] = true;
  Do(watch_.OnHostClosed(host, guard.how(), LastWords(&guard, host_logs_[host]), Now()));
}

void Launcher::OnMessage(int host, const launch::FromGuard& message) {
  const std::string& name = plan_.hosts[host].placed.name;
  if (message.has_ready()) {
    if (settings_.verbose) {
      Say("host " + name + " is up: guard " + std::to_string(message.ready().guard_pid()) +
          ", worker " + std::to_string(message.ready().worker_pid()));
    }
    Do(watch_.OnHostReady(host));
  } else if (message.has_output()) {
    router_->OnOutput(message.output());
  } else if (message.has_log()) {
    host_logs_[host].Add(message.log().text());
    router_->Note(name + ": " + message.log().text());
  } else if (message.has_ending()) {
    if (settings_.verbose && !message.ending().reason().empty()) {
      Say("host " + name + " ends its processes: " + message.ending().reason());
    }
    if (message.ending().worker_lost()) {
      Do(watch_.OnHostLost(host, message.ending().reason(),
                           LastWords(nullptr, host_logs_[host]), Now()));
    }
  } else if (message.has_done()) {
    if (settings_.verbose) Say("host " + name + " has ended");
    Do(watch_.OnHostDone(host, message.done(), Now()));
  }
}

void Launcher::TellCoordinator(const launch::ToCoordinator& message) {
  if (!coordinator_closed_) coordinator_->Send(message.SerializeAsString());
}

void Launcher::Do(const Actions& actions) {
  for (const Action& action : actions) {
    ChildLink* guard = action.host >= 0 ? guards_[action.host].get() : nullptr;
    launch::ToCoordinator told;
    launch::ToGuard order;
    switch (action.kind) {
      case Action::Kind::kTellHostLost:
        told.mutable_host_lost()->set_host(action.host);
        told.mutable_host_lost()->set_reason(action.text);
        told.mutable_host_lost()->set_code(action.code);
        TellCoordinator(told);
        break;
      case Action::Kind::kTellInterrupt:
        told.mutable_interrupt()->set_signal(action.code);
        TellCoordinator(told);
        break;
      case Action::Kind::kStopHost:
        if (guard == nullptr) break;
        order.mutable_stop()->set_reason(action.text);
        order.mutable_stop()->set_hurry(action.hurry);
        guard->Send(order.SerializeAsString());
        break;
      case Action::Kind::kWakeHost:
        if (guard != nullptr) guard->Wake();
        break;
      case Action::Kind::kKillHost:
        if (guard != nullptr) guard->Kill();
        break;
      case Action::Kind::kCloseCoordinator:
        coordinator_->CloseInput();
        break;
      case Action::Kind::kKillCoordinator:
        coordinator_->Kill();
        break;
    }
  }
}

void Launcher::Say(const std::string& text) { router_->Note("reigenrun: " + text); }

// The one message about the end.
void Launcher::Explain() {
  const launch::Verdict& verdict = watch_.verdict();
  if (verdict.code() != 0) {
    Say(verdict.reason());
    if (verdict.rank() >= 0 && verdict.rank() < plan_.size) {
      const auto& lines = router_->stderr_tail(verdict.rank()).lines();
      if (!lines.empty()) {
        Say("the last lines of rank " + std::to_string(verdict.rank()) + "'s stderr:");
      }
      for (const std::string& line : lines) router_->Note("    " + line);
    }
  }
  for (const std::string& line : watch_.left_behind()) Say(line);
}

// As long as the terminal takes it, or the user has had enough: after a signal,
// nobody may be left to read.
void Launcher::DrainOutput(bool interrupted) {
  signalfd_siginfo info;
  const Time deadline = interrupted ? Now() + kInterruptedDrain : Time::max();
  while (!router_->Idle() && Now() < deadline) {
    pollfd entry{signals_.get(), POLLIN, 0};
    if (poll(&entry, 1, 5) > 0 && read(signals_.get(), &info, sizeof info) > 0) return;
  }
}

}  // namespace reigen::run
