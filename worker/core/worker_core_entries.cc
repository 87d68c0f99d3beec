// The half of WorkerCore that follows the coordinator: the plan stream and the end.
#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "worker/core/worker_core.h"

namespace reigen::worker {
namespace {

local::ResultCode ToResultCode(uint32_t code) {
  const bool known = code >= static_cast<uint32_t>(local::ResultCode::kInvalidArgument) &&
                     code <= static_cast<uint32_t>(local::ResultCode::kInternal);
  return known ? static_cast<local::ResultCode>(code) : local::ResultCode::kInternal;
}

constexpr int kHostLost = 71;
// Of programs that lost their coordinator, also by not understanding it.
constexpr int kCoordinatorLost = 72;

}  // namespace

void WorkerCore::On(FromCoordinator& event) {
  if (ended_) return;
  switch (event.message.kind_case()) {
    case control::CoordinatorMessage::kEntries:
      OnEntries(event.message.entries());
      break;
    case control::CoordinatorMessage::kEnd:
      End(event.message.end().code(), event.message.end().reason(), /*by_coordinator=*/true);
      break;
    case control::CoordinatorMessage::kInitFailed:
      for (size_t local = 0; local < states_.size(); ++local) {
        init_sent_[local] = false;  // also of those that gave up meanwhile
        if (states_[local] != State::kInInit) continue;
        states_[local] = State::kAbsent;
        actions_.push_back(
            RefuseInit{static_cast<int>(local), event.message.init_failed().reason()});
      }
      break;
    default:  // the handshake is the link's
      break;
  }
}

void WorkerCore::OnEntries(const control::Entries& entries) {
  uint64_t number = entries.first_entry();
  for (const control::Entry& entry : entries.entry()) {
    const bool begins = entry.kind_case() == control::Entry::kEpochBegin;
    if (number != (begins ? 1 : entries_seen_ + 1) || (!begins && epoch_.epoch == 0)) {
      End(kCoordinatorLost, "the coordinator's plan stream is out of order: entry " +
                                std::to_string(number) + " after " +
                                std::to_string(entries_seen_));
      return;
    }
    switch (entry.kind_case()) {
      case control::Entry::kEpochBegin: OnEpochBegin(entry.epoch_begin()); break;
      case control::Entry::kNameDef:
        if (const Status s = table_.Define(entry.name_def().id(), entry.name_def().name());
            !s.ok()) {
          End(kCoordinatorLost, "the coordinator's plan stream is wrong: " + Message(s));
        }
        break;
      case control::Entry::kPlan: OnPlan(entry.plan()); break;
      case control::Entry::kFail: OnFail(entry.fail()); break;
      case control::Entry::kLeft: OnLeft(entry.left()); break;
      case control::Entry::KIND_NOT_SET: break;
    }
    if (ended_) return;
    entries_seen_ = number++;
  }
}

Status WorkerCore::CheckEpoch(const control::EpochBegin& begin) const {
  if (begin.epoch() <= epoch_.epoch) return FailedPrecondition("an epoch that is not newer");
  if (begin.max_channels() == 0 || begin.max_segment_bytes() == 0) {
    return FailedPrecondition("an epoch without limits");
  }
  for (const control::HostInfo& host : begin.hosts()) {
    if (host.host() != options_.host) continue;
    if (!std::equal(host.ranks().begin(), host.ranks().end(), options_.ranks.begin(),
                    options_.ranks.end())) {
      return FailedPrecondition("an epoch with other ranks on this host");
    }
    return OkStatus();
  }
  return FailedPrecondition("an epoch without this host");
}

void WorkerCore::OnEpochBegin(const control::EpochBegin& begin) {
  if (const Status status = CheckEpoch(begin); !status.ok()) {
    End(kCoordinatorLost, "the coordinator began " + Message(status));
    return;
  }
  for (const FailedRequest& failed : table_.Clear()) {
    Finish(failed.local, failed.request, local::ResultCode::kAborted, "the epoch has ended");
  }
  running_.clear();
  epoch_ = PlanContext();
  epoch_.host = options_.host;
  epoch_.ranks = options_.ranks;
  epoch_.epoch = begin.epoch();
  epoch_.max_segment_bytes = begin.max_segment_bytes();
  epoch_.max_channels = begin.max_channels();
  for (const control::HostInfo& host : begin.hosts()) {
    for (int rank : host.ranks()) epoch_.host_of_rank[rank] = host.host();
  }
  for (size_t local = 0; local < states_.size(); ++local) {
    init_sent_[local] = false;
    running_of_[local] = 0;
    if (states_[local] == State::kInInit) {
      states_[local] = State::kMember;
    } else {
      table_.PushLeave(static_cast<int>(local));  // it gave up while it waited
    }
  }
  actions_.push_back(BeginEpoch{begin});
}

void WorkerCore::OnPlan(const control::Plan& plan) {
  StatusOr<CheckedPlan> checked = CheckPlan(plan, epoch_, table_);
  if (!checked.ok()) {
    PlanFailed(plan.sequence(), "plan " + std::to_string(plan.sequence()) + ": " +
                                    Message(checked.status()));
    return;
  }
  epoch_.next_sequence = plan.sequence() + 1;
  for (size_t i = 0; i < checked->instances.size(); ++i) {
    Instance& instance = *checked->instances[i];
    if (instance.planned.empty()) {  // its first plan
      instance.planned.resize(std::max<size_t>(instance.spec().tensors.size(), 1));
      instance.unplanned = instance.undone = instance.planned.size();
      for (size_t local = 0; local < instance.requests.size(); ++local) {
        if (instance.requests[local].has_value()) ++running_of_[local];
      }
    }
    instance.planned[checked->tensors[i]] = true;
    if (--instance.unplanned == 0) table_.TakePlanned(checked->instances[i]);
  }
  if (checked->moves_nothing) {
    TensorsDone(checked->instances);
    return;
  }
  running_.emplace(checked->bucket.id, checked->instances);
  actions_.push_back(StartBucket{std::move(checked->bucket), std::move(checked->instances),
                                 std::move(checked->tensors)});
}

void WorkerCore::OnFail(const control::Fail& fail) {
  const std::string* name = &fail.name();
  if (fail.name_id() != 0) {
    name = table_.NameOf(fail.name_id());
    if (name == nullptr) {
      End(kCoordinatorLost, "the coordinator's plan stream fails an unknown name");
      return;
    }
  }
  const Failure failure{ToResultCode(fail.code()), fail.reason()};
  for (const FailedRequest& failed :
       table_.Fail(fail.process_set(), *name, failure, Members())) {
    Finish(failed.local, failed.request, failure.code, failure.text);
  }
}

void WorkerCore::OnLeft(const control::Left& left) {
  for (int rank : left.ranks()) {
    const auto it = std::find(options_.ranks.begin(), options_.ranks.end(), rank);
    if (it == options_.ranks.end()) continue;
    const int local = static_cast<int>(it - options_.ranks.begin());
    if (states_[local] != State::kLeaving) continue;
    states_[local] = State::kLeft;
    ReleaseIfIdle(local);
  }
}

void WorkerCore::On(GiveUp& event) {
  if (!ended_) End(event.code, event.reason);
}

void WorkerCore::End(int code, const std::string& reason, bool by_coordinator) {
  ended_ = true;
  const std::string text = reason.empty() ? "the job is over" : "the job has ended: " + reason;
  const auto result =
      by_coordinator ? local::ResultCode::kAborted : local::ResultCode::kUnavailable;
  const std::vector<FailedRequest> failed = table_.Clear();
  for (const FailedRequest& request : failed) {
    Finish(request.local, request.request, result, text);
  }
  for (size_t local = 0; local < states_.size(); ++local) {
    if (states_[local] == State::kInInit) {
      actions_.push_back(RefuseInit{static_cast<int>(local), text});
    }
    if (states_[local] == State::kLeaving || states_[local] == State::kLeft) {
      actions_.push_back(Release{static_cast<int>(local)});
    }
    states_[local] = State::kAbsent;
  }
  const bool loss = code == kHostLost || code == kCoordinatorLost;
  actions_.push_back(EndJob{code, reason, by_coordinator, loss && !failed.empty()});
}

}  // namespace reigen::worker
