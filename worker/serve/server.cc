#include "worker/serve/server.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <thread>
#include <utility>

#include "runtime/base/log.h"
#include "worker/serve/tcp_options.h"
#include "worker/spawn/serve_fds.h"

namespace reigen::worker {
namespace {

// While something waits or runs, a sign of life for the guard this often.
constexpr Duration kGuardBeat = milliseconds(200);
// Else at a third of the pace (spawn/serve_fds.h): five within the time after which the
// host counts as dead.
constexpr int kQuietBeats = 3;
constexpr int kHostLost = 71;

Duration Seconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

// Nobody reads the other end any more.
bool PipeIsBroken(int fd) {
  pollfd one{fd, 0, 0};
  return fd >= 0 && poll(&one, 1, 0) > 0 && (one.revents & POLLERR) != 0;
}

// Threads for memory work: beyond a few, memory is the limit.
int ExecutorThreads(uint32_t asked) {
  if (asked > 0) return static_cast<int>(std::min(asked, 256u));
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 8u));
}

}  // namespace

Server::Server(Options options)
    : options_(std::move(options)),
      ranks_(options_.start.host().ranks().begin(), options_.start.host().ranks().end()),
      core_(WorkerCore::Options{.host = options_.start.host().host(), .ranks = ranks_}),
      stop_reaching_(eventfd(0, EFD_CLOEXEC)),
      heartbeat_(kGuardBeat),
      reported_(ranks_.size(), false) {}

Server::~Server() {
  (void)eventfd_write(stop_reaching_.get(), 1);
  if (reaching_.joinable()) reaching_.join();
  link_.reset();
  if (network_ != nullptr) network_->engine().CancelAll(Aborted("the worker ends"));
  if (gpus_ != nullptr) gpus_->EndAll(Aborted("the worker ends"));
  network_.reset();  // no bucket uses a session's memory after this
  sessions_.reset();
  if (guard_gone_ || PipeIsBroken(options_.heartbeat_fd)) {
    std::error_code ignored;  // nobody is left to tell
    std::filesystem::remove_all(options_.folder, ignored);
  }
}

Status Server::SetUp() {
  REIGEN_ASSIGN_OR_RETURN(loop_, EventLoop::Make());
  executor_ =
      collective::MakePoolExecutor(ExecutorThreads(options_.start.options().reduce_threads()));
  REIGEN_RETURN_IF_ERROR(
      loop_->Add(executor_->event_fd(), EPOLLIN, [this](uint32_t) { executor_->Progress(); }));
  sessions_ = std::make_unique<Sessions>(
      Sessions::Options{.ranks = ranks_,
                        .belongs =
                            [this](pid_t pid, int local) {
                              return trainers_ != nullptr &&
                                     trainers_->Descends(pid, ranks_[local]);
                            },
                        .closer = &closer_},
      loop_.get(), executor_.get(), static_cast<SessionHandler*>(this));
  SetUpGpus();
  REIGEN_RETURN_IF_ERROR(sessions_->Listen(options_.folder + "/worker.sock"));
  REIGEN_RETURN_IF_ERROR(
      loop_->Add(reached_.fd(), EPOLLIN, [this](uint32_t) { OnReached(); }));
  StartReaching();
  return OkStatus();
}

void Server::SetUpGpus() {
  const launch::JobOptions& job = options_.start.options();
  const bool require = job.gpu_direct() == "require";
  gpu_scratch_ = std::make_unique<GpuScratch>(
      GpuScratch::Options{.ranks = ranks_, .require = require}, sessions_.get(), executor_.get());
  GpuPool::Options options{.ranks = ranks_};
  options.warn_after = Scaled(options.warn_after, job);
  options.answer_limit = Scaled(options.answer_limit, job);
  gpus_ = std::make_unique<GpuPool>(std::move(options), sessions_.get(), gpu_scratch_.get());
  gate_ = std::make_unique<Gate>(
      Gate::Options{.wait_limit = Scaled(Gate::Options().wait_limit, job), .require = require},
      gpus_.get(), [this](collective::Bucket bucket) {
        network_->engine().Start(std::move(bucket));
        bucket_started_ = true;
      });
  if (job.gpu_direct() == "auto" || require) sessions_->TakeDevices(gpus_.get());
}

void Server::StartReaching() {
  const launch::GuardStart& start = options_.start;
  const ReachOptions options{
      .coordinator_addresses = {start.coordinator_addresses().begin(),
                                start.coordinator_addresses().end()},
      .networks = {start.networks().begin(), start.networks().end()},
      .host_name = start.host().name(),
      .stop_fd = stop_reaching_.get()};
  const Time deadline = Now() + Seconds(std::max(start.options().start_timeout_seconds(), 1.0));
  reaching_ = std::thread(
      [this, options, deadline] { reached_.Push(ReachCoordinator(options, deadline)); });
}

int Server::Run() {
  if (const Status status = SetUp(); !status.ok()) {
    REIGEN_ERROR("host {}: its worker cannot serve: {}", options_.start.host().name(), Message(status));
    SayCause("its worker cannot serve: " + Message(status));
    return kHostLost;
  }
  while (phase_ != Phase::kDone) {
    Turn();
    if (phase_ != Phase::kDone) Sleep();
  }
  return exit_code_;
}

void Server::Turn() {
  const Time now = Now();
  sessions_->TakeDones();
  gpus_->Progress(now);
  if (network_ != nullptr) network_->Progress(now);
  more_requests_ = sessions_->TakeRequests();
  OnTimers(now);
  Settle(now);
  if (!core_.quiet()) next_beat_ = std::min(next_beat_, busy_beat_);
  if (core_.wants_flush() && link_ != nullptr && link_->idle()) Apply(core_.Step(Flush{}, now));
  sessions_->Publish();
  if (network_ == nullptr || (network_->idle() && gate_->waiting() == 0)) {
    gpus_->FreeEnded();
    sessions_->FreeRetired();
  }
  if (phase_ == Phase::kEnding) ContinueEnding(now);
}

// Until the core has heard of everything and the engine has started everything.
void Server::Settle(Time now) {
  while (true) {
    if (network_ != nullptr) {
      for (LostLink& lost : network_->TakeLostLinks()) {
        events_.push_back(LinkFailed{lost.peer, std::move(lost.reason)});
      }
    }
    gate_->Step(now);
    if (events_.empty() && !bucket_started_) return;
    while (!events_.empty()) {
      Event event = std::move(events_.front());
      events_.pop_front();
      Apply(core_.Step(std::move(event), now));
    }
    SendFinishedOnce();
    if (std::exchange(bucket_started_, false)) network_->engine().Progress(now);
  }
}

void Server::Sleep() {
  const bool stay = sessions_->PrepareToSleep() || more_requests_ || !events_.empty();
  loop_->RunOnce(stay ? std::optional<Time>(Time::min()) : NextDeadline());
  sessions_->WokenUp();
}

std::optional<Time> Server::NextDeadline() const {
  Time next = next_beat_;
  if (coordinator_lost_at_.has_value()) next = std::min(next, *coordinator_lost_at_);
  for (const auto& [local, gone] : gone_) next = std::min(next, gone.report_at);
  if (phase_ == Phase::kEnding) next = std::min(next, next_kill_);
  if (const auto deadline = gpus_->NextDeadline()) next = std::min(next, *deadline);
  if (const auto deadline = gate_->NextDeadline()) next = std::min(next, *deadline);
  if (network_ != nullptr) {
    if (const auto deadline = network_->NextDeadline()) next = std::min(next, *deadline);
  }
  return next;
}

void Server::OnTimers(Time now) {
  if (now >= next_beat_) Beat(now);
  if (coordinator_lost_at_.has_value() && now >= *coordinator_lost_at_) {
    coordinator_lost_at_.reset();
    GiveUpBecause(72, "the coordinator is lost and did not come back");
  }
  for (auto it = gone_.begin(); it != gone_.end();) {
    const auto next = std::next(it);
    if (now >= it->second.report_at) {
      ReportEnded(it->first, 70, 0, it->second.detail);
      gone_.erase(it);
    }
    it = next;
  }
}

void Server::Beat(Time now) {
  busy_beat_ = now + std::min(heartbeat_, kGuardBeat);
  next_beat_ = now + kQuietBeats * std::min(heartbeat_, kGuardBeat);
  if (options_.heartbeat_fd >= 0 && !guard_gone_) {
    const char beat = 0;
    // A full pipe: the guard is behind, and has enough of them to read.
    if (write(options_.heartbeat_fd, &beat, 1) < 0 && errno != EAGAIN && errno != EINTR) {
      guard_gone_ = true;
      GiveUpBecause(kHostLost, "the guard of this host is gone");
    }
  }
  if (trainers_ != nullptr) ReapTrainers();  // adopted grandchildren too
  if (welcomed_) events_.push_back(HeartbeatDue{});
}

void Server::SayCause(const std::string& cause) {
  if (options_.heartbeat_fd < 0 || guard_gone_) return;
  const std::string words = kCauseFollows + cause.substr(0, kMaxCauseBytes);
  // Should the pipe be full, the log has it.
  (void)!write(options_.heartbeat_fd, words.data(), words.size());
}

void Server::GiveUpBecause(int code, const std::string& reason) {
  REIGEN_ERROR("host {}: {}", options_.start.host().name(), reason);
  events_.push_back(GiveUp{code, reason});
}

}  // namespace reigen::worker
