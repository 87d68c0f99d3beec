// What the core wants done, and the end.
#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "worker/serve/server.h"

namespace reigen::worker {
namespace {

// Processes that do not end within SIGTERM's time and so much of SIGKILL are left to
// the guard, which names them.
constexpr Duration kKillLimit = seconds(4);
constexpr Duration kKillAgain = milliseconds(50);
// Trainers that were told of a loss have so much of the grace to say it before SIGTERM.
constexpr int kRaiseShare = 3;
// GPUs' commands that are not done by then are given up.
constexpr Duration kCancelLimit = seconds(1);
// For what was sent last to get out.
constexpr Duration kFarewellLimit = seconds(1);

}  // namespace

void Server::Apply(std::vector<Action> actions) {
  for (Action& action : actions) {
    std::visit([this](auto& a) { Do(a); }, action);
  }
}

void Server::Do(Send& action) {
  if (welcomed_) link_->Send(std::move(action.message));
}

void Server::Do(BeginEpoch& action) {
  Status status = gate_->waiting() > 0 ? Internal("buckets of the last epoch have not ended")
                                       : network_->BeginEpoch(action.epoch);
  if (!status.ok()) {
    control::WorkerMessage message;
    message.mutable_plan_failed()->set_epoch(action.epoch.epoch());
    message.mutable_plan_failed()->set_reason("host " + options_.start.host().name() +
                                              " cannot begin the epoch: " + Message(status));
    link_->Send(std::move(message));
    return;  // the coordinator ends the job
  }
  gpus_->BeginEpoch();
  gpu_scratch_->BeginEpoch(network_.get(), network_->window_bytes());
  const launch::GuardStart& start = options_.start;
  local::EpochBegun begun;
  begun.device_scratch_bytes = gpu_scratch_->bytes();
  begun.requires_device_arenas = gpu_scratch_->required() ? 1 : 0;
  begun.epoch = action.epoch.epoch();
  begun.local_size = static_cast<int32_t>(ranks_.size());
  for (const control::HostInfo& host : action.epoch.hosts()) begun.size += host.ranks_size();
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const int local = static_cast<int>(i);
    begun.rank = ranks_[i];
    begun.local_rank = local;
    begun.cross_rank = local < start.cross_ranks_size() ? start.cross_ranks(local) : 0;
    begun.cross_size = local < start.cross_sizes_size() ? start.cross_sizes(local) : 1;
    sessions_->BeginEpoch(local, begun);
  }
}

void Server::Do(RefuseInit& action) { sessions_->RefuseInit(action.local, action.reason); }

void Server::Do(StartBucket& action) {
  action.bucket.done = [this, id = action.bucket.id](const Status& status) {
    events_.push_back(BucketEnded{id, status});
  };
  gate_->Push(std::move(action.bucket), std::move(action.instances), std::move(action.tensors),
              Now());
}

void Server::Do(Complete& action) {
  sessions_->Complete(action.local, action.request, action.code, action.text);
}

void Server::Do(Release& action) { sessions_->Release(action.local); }

void Server::Do(EndJob& action) {
  exit_code_ = action.by_coordinator ? 0 : action.code;
  REIGEN_INFO("host={} the job ends: {} (code {})", options_.start.host().host(),
              action.reason, action.code);
  if (!action.by_coordinator) SayCause(action.reason);
  phase_ = Phase::kEnding;
  next_kill_ = Now();
  coordinator_lost_at_.reset();
  sessions_->Publish();  // trainers see why before the signal comes
  if (network_ != nullptr) network_->engine().CancelAll(Aborted("the job has ended"));
  gate_->CancelAll(Aborted("the job has ended"));
  gpus_->EndBy(Now() + kCancelLimit);
  if (action.trainers_told) raise_until_ = Now() + Grace() / kRaiseShare;
  TerminateUnlessRaising(Now());
}

Duration Server::Grace() const {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(options_.start.options().grace_seconds()));
}

void Server::TerminateUnlessRaising(Time now) {
  const bool all_ended = std::all_of(reported_.begin(), reported_.end(), [](bool r) { return r; });
  if (terminating_since_.has_value() || (now < raise_until_ && !all_ended)) return;
  terminating_since_ = now;
  if (trainers_ != nullptr) trainers_->TerminateAll();
}

void Server::ContinueEnding(Time now) {
  if (now < next_kill_) return;
  next_kill_ = now + kKillAgain;
  if (trainers_ != nullptr) ReapTrainers();
  TerminateUnlessRaising(now);
  if (!terminating_since_.has_value()) return;
  const Duration terminating = now - *terminating_since_;
  if (trainers_ != nullptr) {
    if (trainers_->AnyLeft()) {
      if (terminating < Grace()) return;
      if (terminating < Grace() + kKillLimit) {
        trainers_->KillAll();
        return;
      }
      REIGEN_ERROR("host={} has processes that SIGKILL does not end",
                   options_.start.host().host());
      exit_code_ = std::max(exit_code_, 1);
    }
  }
  if (!events_.empty()) return;  // ends that the coordinator has not heard of
  const bool sent = link_ == nullptr || link_->idle();
  if (sent || terminating > Grace() + kKillLimit + kFarewellLimit) {
    phase_ = Phase::kDone;
  }
}

void Server::SendFinishedOnce() {
  const bool all = std::all_of(reported_.begin(), reported_.end(), [](bool r) { return r; });
  if (finished_sent_ || !welcomed_ || !all || !events_.empty()) return;
  finished_sent_ = true;
  control::WorkerMessage message;
  message.mutable_finished();
  link_->Send(std::move(message));
}

}  // namespace reigen::worker
