#include "worker/core/worker_core.h"

#include <utility>

#include "runtime/base/check.h"
#include "worker/limits.h"

namespace reigen::worker {

// Requests that waited longer than this are told to the coordinator.
constexpr Duration kLateAfter = seconds(1);

WorkerCore::WorkerCore(Options options)
    : options_(std::move(options)),
      table_(options_.ranks.size()),
      states_(options_.ranks.size(), State::kAbsent),
      init_sent_(options_.ranks.size(), false),
      running_of_(options_.ranks.size(), 0) {}

std::vector<Action> WorkerCore::Step(Event event, Time now) {
  now_ = now;
  actions_.clear();
  std::visit([this](auto& e) { On(e); }, event);
  return std::exchange(actions_, {});
}

control::WorkerMessage& WorkerCore::NewMessage() {
  actions_.push_back(Send{});
  return std::get<Send>(actions_.back()).message;
}

std::vector<bool> WorkerCore::Members() const {
  std::vector<bool> members;
  for (State state : states_) members.push_back(state == State::kMember);
  return members;
}

void WorkerCore::Finish(int local, uint64_t request, local::ResultCode code,
                        const std::string& text) {
  actions_.push_back(Complete{local, request, code, text});
}

// --- trainers ---------------------------------------------------------------------

void WorkerCore::On(InitCalled& event) {
  State& state = states_[event.local];
  REIGEN_CHECK(state == State::kAbsent, "one session a rank");
  if (ended_) {
    actions_.push_back(RefuseInit{event.local, "the job is over"});
    return;
  }
  state = State::kInInit;
  if (init_sent_[event.local]) return;
  init_sent_[event.local] = true;
  NewMessage().mutable_init()->add_ranks(options_.ranks[event.local]);
}

void WorkerCore::On(Submitted& event) {
  const int local = event.local;
  const uint64_t id = event.request.id;
  quiet_ = false;
  if (ended_) {
    Finish(local, id, local::ResultCode::kAborted, "the job is over");
    return;
  }
  if (states_[local] != State::kMember) {
    Finish(local, id, local::ResultCode::kFailedPrecondition, "not initialised");
    return;
  }
  if (const Status status = CheckRequest(event.request); !status.ok()) {
    Finish(local, id, local::ResultCode::kInvalidArgument, Message(status));
    return;
  }
  const auto failure = table_.Add(local, std::move(event.request), Members(), now_);
  if (failure.has_value()) Finish(local, id, failure->code, failure->text);
}

Status WorkerCore::CheckRequest(const Request& request) const {
  if (request.process_set != 0) {
    return InvalidArgument(request.name + ": there is no process set " +
                           std::to_string(request.process_set));
  }
  if (request.spec->kind == CollectiveKind::kBroadcast &&
      !epoch_.host_of_rank.contains(request.spec->root)) {
    return InvalidArgument(request.name + ": there is no rank " +
                           std::to_string(request.spec->root) + " to be its root");
  }
  return OkStatus();
}

void WorkerCore::On(LeaveCalled& event) {
  State& state = states_[event.local];
  if (ended_ || state != State::kMember) {
    state = State::kAbsent;
    actions_.push_back(Release{event.local});
    return;
  }
  state = State::kLeaving;
  // In this order: what is announced because this rank no longer counts comes after.
  table_.PushLeave(event.local);
  table_.Leave(event.local, Members());
}

void WorkerCore::On(TrainerEnded& event) {
  State& state = states_[event.local];
  control::RankEnded& ended = *NewMessage().mutable_rank_ended();
  ended.set_rank(options_.ranks[event.local]);
  ended.set_code(event.code);
  ended.set_signal(event.signal);
  ended.set_attached(state == State::kInInit || state == State::kMember);
  ended.set_detail(event.detail);
}

// --- the runtime --------------------------------------------------------------------

void WorkerCore::On(BucketEnded& event) {
  const auto it = running_.find(event.id);
  if (it == running_.end()) return;
  const std::vector<InstancePtr> instances = std::move(it->second);
  running_.erase(it);
  if (event.status.ok()) {
    TensorsDone(instances);
    return;
  }
  // The coordinator decides what becomes of it; until then its requests wait.
  if (event.status.code() != StatusCode::kUnavailable && !ended_) {
    PlanFailed(event.id.sequence, Message(event.status));
  }
}

void WorkerCore::TensorsDone(const std::vector<InstancePtr>& instances) {
  for (const InstancePtr& instance : instances) {
    REIGEN_CHECK(instance->undone > 0);
    if (--instance->undone > 0 || instance->unplanned > 0) continue;
    table_.Done(*instance);
    for (size_t local = 0; local < instance->requests.size(); ++local) {
      const auto& request = instance->requests[local];
      if (!request.has_value()) continue;
      --running_of_[local];
      if (!ended_) Finish(local, request->id, local::ResultCode::kOk, "");
      ReleaseIfIdle(local);
    }
  }
}

void WorkerCore::ReleaseIfIdle(int local) {
  if (states_[local] != State::kLeft || running_of_[local] > 0) return;
  for (const FailedRequest& failed : table_.TakeAbandoned(local)) {
    Finish(failed.local, failed.request, local::ResultCode::kAborted,
           "shutdown came before the operation could run");
  }
  states_[local] = State::kAbsent;
  actions_.push_back(Release{local});
}

void WorkerCore::On(LinkFailed& event) {
  if (ended_) return;
  control::LinkLost& lost = *NewMessage().mutable_link_lost();
  lost.set_epoch(epoch_.epoch);
  lost.set_peer_host(event.peer);
  lost.set_reason(event.reason);
}

// --- to the coordinator ---------------------------------------------------------------

void WorkerCore::On(HeartbeatDue&) {
  quiet_ = running_.empty() && !table_.waits();
  control::Heartbeat& beat = *NewMessage().mutable_heartbeat();
  beat.set_epoch(epoch_.epoch);
  beat.set_entries_seen(entries_seen_);
  for (const InstancePtr& instance : table_.Late(now_, kLateAfter)) {
    control::Waiting& waiting = *beat.add_waiting();
    waiting.set_name(instance->name);
    waiting.set_seconds(ToSeconds(now_ - instance->since));
    for (size_t local = 0; local < states_.size(); ++local) {
      if (states_[local] == State::kMember && !instance->requests[local].has_value()) {
        waiting.add_missing_ranks(options_.ranks[local]);
      }
    }
  }
  for (const auto& [id, instances] : running_) {
    if (static_cast<size_t>(beat.running_sequences_size()) == limits::kMaxRunningReported) break;
    beat.add_running_sequences(id.sequence);
  }
}

void WorkerCore::On(Flush&) {
  control::ReadyBatch* batch = nullptr;
  for (const RequestTable::OutItem& item : table_.TakeOutbox()) {
    if (item.ready == nullptr) {
      batch = nullptr;
      control::LeaveRequest& leave = *NewMessage().mutable_leave();
      leave.set_epoch(epoch_.epoch);
      leave.add_ranks(options_.ranks[item.leave]);
      continue;
    }
    if (batch == nullptr) {
      batch = NewMessage().mutable_ready();
      batch->set_epoch(epoch_.epoch);
      batch->set_entries_seen(entries_seen_);
    }
    table_.FillReady(*item.ready, options_.ranks, *batch->add_ready());
  }
}

void WorkerCore::PlanFailed(uint64_t sequence, const std::string& reason) {
  control::PlanFailed& failed = *NewMessage().mutable_plan_failed();
  failed.set_epoch(epoch_.epoch);
  failed.set_sequence(sequence);
  failed.set_reason(reason);
}

}  // namespace reigen::worker
