#include "worker/guard/guard.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "runtime/base/child_process.h"
#include "runtime/base/version.h"
#include "worker/spawn/serve_fds.h"

namespace reigen::worker {
namespace {

// For the launcher's first message: it waits for the coordinator to listen.
constexpr Duration kStartMessageLimit = seconds(120);
// A launcher that takes nothing for so long at the end loses the rest.
constexpr Duration kDrainLimit = seconds(60);
constexpr Duration kOrphanDrainLimit = seconds(2);
constexpr int kIdlePollMs = 1000;
// Signs of life for the launcher, when this process is awake anyway.
constexpr Duration kAlive = milliseconds(500);

Duration FromSeconds(double s, double otherwise) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(s > 0 ? s : otherwise));
}

std::string SecondsText(Duration d) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", ToSeconds(d));
  return text;
}

// The signals arrive by a descriptor. SIGPIPE is EPIPE where it belongs.
UniqueFd BlockSignals() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (int s : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, s);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
}

}  // namespace

Guard::Guard(Options options)
    : options_(std::move(options)),
      input_(options_.in_fd),
      relay_(options_.out_fd),
      signals_(BlockSignals()) {}

int Guard::Run() {
  setsid();  // fails if it leads one already: as wanted
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  StatusOr<launch::GuardStart> start = ReadStart();
  if (!start.ok()) return start.status().code() == StatusCode::kUnavailable ? 0 : 1;
  grace_ = FromSeconds(start->options().grace_seconds(), 3);
  dead_after_ = FromSeconds(start->options().dead_after_seconds(), 3);
  const Status begun = Begin(*start);
  if (!begun.ok()) {
    BeginEnd("host " + start->host().name() + ": " + Message(begun), /*lost=*/true, Now());
  }
  Loop();
  return 0;
}

StatusOr<launch::GuardStart> Guard::ReadStart() {
  REIGEN_RETURN_IF_ERROR(SetNonBlocking(options_.in_fd));
  REIGEN_RETURN_IF_ERROR(SetNonBlocking(options_.out_fd));
  REIGEN_ASSIGN_OR_RETURN(const std::string bytes, input_.Read(Now() + kStartMessageLimit));
  launch::ToGuard message;
  if (!message.ParseFromString(bytes) || !message.has_start()) {
    return InvalidArgument("the first message is not a start");
  }
  return message.start();
}

Status Guard::Begin(const launch::GuardStart& start) {
  if (start.version() != kVersion) {
    return FailedPrecondition("reigen-worker is version " + std::string(kVersion) +
                              ", the launcher's is " + start.version());
  }
  const std::vector<std::string> environment(start.environment().begin(),
                                             start.environment().end());
  const std::string base = RuntimeBase(FindVariable(environment, "REIGEN_RUNTIME_DIR"));
  SweepRuntimeFolders(base);
  REIGEN_ASSIGN_OR_RETURN(
      folder_,
      RuntimeFolder::Create(base, start.job() + "-h" + std::to_string(start.host().host())));
  REIGEN_ASSIGN_OR_RETURN(serve_, StartServe(options_.program, start, folder_.path()));
  const std::vector<int> ranks(start.host().ranks().begin(), start.host().ranks().end());
  relay_.Watch(std::move(serve_.outputs), ranks, std::move(serve_.log));
  beat_deadline_ = Now() + FromSeconds(start.options().start_timeout_seconds(), 30);
  return OkStatus();
}

void Guard::Loop() {
  for (;;) {
    const Time now = Now();
    if (!Step(now)) return;
    ShowLife(now);
    WaitForSomething(now);
  }
}

bool Guard::Step(Time now) {
  if (phase_ == Phase::kServing && now >= beat_deadline_) {
    BeginEnd(ready_ ? "the worker has stopped: no heartbeat for " + SecondsText(dead_after_)
                    : "the worker did not start in time",
             /*lost=*/true, now);
  }
  if (phase_ == Phase::kEnding) {
    tree_->Step(now);
    if (!tree_->done()) return true;
    phase_ = Phase::kDraining;
    progress_ = now;
  }
  if (phase_ == Phase::kDraining) {
    if (!relay_.Drain() && now - progress_ < DrainLimit()) return true;
    folder_.Remove();
    SendDone();
    phase_ = Phase::kClosing;
  }
  if (phase_ != Phase::kClosing) return true;
  return !relay_.all_sent() && now - progress_ < DrainLimit();
}

Duration Guard::DrainLimit() const { return input_open_ ? kDrainLimit : kOrphanDrainLimit; }

int Guard::PollTimeoutMs(Time now) const {
  if (phase_ == Phase::kEnding) {
    return static_cast<int>(std::chrono::ceil<milliseconds>(TreeEnd::kStep).count());
  }
  if (phase_ != Phase::kServing) return kIdlePollMs;
  const auto left = std::chrono::ceil<milliseconds>(beat_deadline_ - now).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, kIdlePollMs));
}

void Guard::WaitForSomething(Time now) {
  std::vector<pollfd> entries;
  if (input_open_) entries.push_back({input_.fd(), POLLIN, 0});
  entries.push_back({signals_.get(), POLLIN, 0});
  if (serve_.heartbeat.valid()) entries.push_back({serve_.heartbeat.get(), POLLIN, 0});
  relay_.AddTo(&entries);
  poll(entries.data(), entries.size(), PollTimeoutMs(now));

  // Everything is non-blocking: whoever has nothing returns at once.
  now = Now();
  relay_.Progress();
  if (relay_.pending_bytes() < pending_bytes_) progress_ = now;
  pending_bytes_ = relay_.pending_bytes();
  TakeHeartbeat(now);
  TakeSignals(now);
  Reap(now);
  TakeInput(now);
}

void Guard::TakeSignals(Time now) {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo == SIGCHLD) continue;
    BeginEnd("the guard got signal " + std::to_string(info.ssi_signo) + " (" +
                 strsignal(static_cast<int>(info.ssi_signo)) + ")",
             /*lost=*/true, now);
  }
}

void Guard::TakeInput(Time now) {
  if (!input_open_) return;
  const StatusOr<bool> open = input_.Fill();
  for (;;) {
    const StatusOr<std::optional<std::string>> next = input_.Next();
    if (!next.ok()) {
      input_open_ = false;
      BeginEnd("bad message of the launcher: " + Message(next.status()), /*lost=*/true, now);
      return;
    }
    if (!*next) break;
    launch::ToGuard message;
    if (!message.ParseFromString(**next) || !message.has_stop()) continue;
    BeginEnd(message.stop().reason(), /*lost=*/false, now);
    if (message.stop().hurry() && tree_) tree_->Hurry(now);
  }
  if (open.ok() && *open) return;
  input_open_ = false;
  BeginEnd("the launcher is gone", /*lost=*/false, now);
}

void Guard::ShowLife(Time now) {
  // What waits to be sent shows it as well.
  if (!ready_ || phase_ == Phase::kClosing || now < next_alive_ || !relay_.all_sent()) return;
  next_alive_ = now + kAlive;
  relay_.Send(launch::FromGuard());
}

void Guard::TakeHeartbeat(Time now) {
  if (!serve_.heartbeat.valid()) return;
  char beats[256];
  ssize_t n;
  bool any = false;
  while ((n = read(serve_.heartbeat.get(), beats, sizeof beats)) > 0) {
    any = TakeBeats({beats, static_cast<size_t>(n)}) || any;
  }
  if (n == 0) serve_.heartbeat.Reset();  // its end is seen by Reap, or by silence
  if (!any) return;
  beat_deadline_ = now + dead_after_;
  if (ready_) return;
  ready_ = true;
  launch::FromGuard message;
  message.mutable_ready()->set_guard_pid(getpid());
  message.mutable_ready()->set_worker_pid(serve_.child.pid);
  relay_.Send(message);
}

// True: a beat is among them. The cause is input.
bool Guard::TakeBeats(std::string_view bytes) {
  bool any = false;
  for (const char byte : bytes) {
    if (byte == kCauseFollows || byte == 0) in_cause_ = byte == kCauseFollows;
    if (!in_cause_) {
      any = true;
    } else if (byte != kCauseFollows && cause_.size() < kMaxCauseBytes) {
      cause_.push_back(byte);
    }
  }
  return any;
}

void Guard::Reap(Time now) {
  int status = 0;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid != serve_.child.pid) continue;
    const ExitStatus exit = DecodeWaitStatus(status);
    const bool well = exit.code == 0 && exit.signal == 0;
    TakeHeartbeat(now);  // what it wrote last
    const bool said = exit.signal == 0 && !cause_.empty();
    BeginEnd(well ? "" : said ? cause_ : "the worker ended: " + ToString(exit), /*lost=*/!well,
             now);
  }
}

void Guard::BeginEnd(const std::string& reason, bool lost, Time now) {
  if (phase_ != Phase::kServing) return;  // the first reason counts
  phase_ = Phase::kEnding;
  reason_ = reason;
  lost_ = lost;
  tree_.emplace(options_.hooks, serve_.child.pid, grace_, now);
  // The launcher hears of it before its consequences show elsewhere.
  launch::FromGuard message;
  message.mutable_ending()->set_reason(reason);
  message.mutable_ending()->set_worker_lost(lost);
  relay_.Send(message);
}

void Guard::SendDone() {
  launch::FromGuard message;
  launch::GuardDone* done = message.mutable_done();
  done->set_reason(reason_);
  done->set_worker_lost(lost_);
  for (pid_t pid : tree_->unkillable()) done->add_unkillable_pids(pid);
  relay_.Send(message);
}

}  // namespace reigen::worker
