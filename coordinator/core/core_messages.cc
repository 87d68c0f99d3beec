// What workers say, and what follows from it.
#include <utility>

#include "coordinator/core/core.h"
#include "coordinator/core/link_table.h"
#include "runtime/base/check.h"

namespace reigen::coordinator {
namespace {

std::vector<int> Ranks(const google::protobuf::RepeatedField<int32_t>& ranks) {
  return {ranks.begin(), ranks.end()};
}

}  // namespace

void CoordinatorCore::Handle(HostMessage& event, Time now) {
  REIGEN_CHECK(event.host >= 0 && static_cast<size_t>(event.host) < membership_.hosts().size());
  membership_.Heard(event.host, now);
  if (life_.ended()) return;
  const reigen::Status status = HandleMessage(event.host, event.message, now);
  if (status.ok()) return;
  actions_.push_back(DropHost{event.host, Message(status)});
  membership_.Detach(event.host);
  Decide({.code = kHostLost,
          .reason = membership_.HostText(event.host) +
                    ": its worker sent what it must not: " + Message(status),
          .host = event.host},
         now);
}

reigen::Status CoordinatorCore::HandleMessage(int host, const control::WorkerMessage& message,
                                              Time now) {
  using Kind = control::WorkerMessage::KindCase;
  if (message.kind_case() == Kind::kAttached) return HandleAttached(host, message.attached(), now);
  if (!membership_.hosts()[host].is_attached) return InvalidArgument("message before Attached");
  switch (message.kind_case()) {
    case Kind::kInit:
      return HandleInit(host, message.init(), now);
    case Kind::kReady:
      if (plan_stream_ == nullptr) return InvalidArgument("Ready before the first epoch");
      return plan_stream_->Announce(host, message.ready(), now);
    case Kind::kLeave:
      return HandleLeave(host, message.leave(), now);
    case Kind::kRankEnded:
      return HandleRankEnded(host, message.rank_ended(), now);
    case Kind::kHeartbeat:
      if (plan_stream_ == nullptr) return OkStatus();
      return plan_stream_->Note(host, message.heartbeat(), now);
    case Kind::kLinkLost:
      return HandleLinkLost(host, message.link_lost(), now);
    case Kind::kPlanFailed:
      return HandlePlanFailed(host, message.plan_failed(), now);
    case Kind::kFinished:
      return membership_.Finish(host);
    case Kind::kHello:
    case Kind::kProof:
    case Kind::kAttached:
    case Kind::KIND_NOT_SET:
      break;
  }
  return InvalidArgument("message of kind " + std::to_string(message.kind_case()));
}

reigen::Status CoordinatorCore::HandleAttached(int host, const control::Attached& attached,
                                               Time now) {
  REIGEN_RETURN_IF_ERROR(membership_.Attach(host, attached, now));
  Log(false, membership_.HostText(host) + ": worker " + std::to_string(attached.pid()) +
                 " attached; " + attached.network_reason());
  const std::vector<HostMember>& hosts = membership_.hosts();
  const bool all = membership_.AttachedHosts().size() == hosts.size();
  if (!all || hosts.size() == 1) return OkStatus();
  LinkTable table = DescribeLinks(hosts);
  Log(table.warning, std::move(table.text));
  if (table.refusal.empty()) return OkStatus();
  Decide({.code = kHostLost, .reason = std::move(table.refusal), .host = table.refused_host}, now);
  return OkStatus();
}

reigen::Status CoordinatorCore::HandleInit(int host, const control::InitRequest& init, Time now) {
  REIGEN_RETURN_IF_ERROR(membership_.Init(host, Ranks(init.ranks()), now));
  CheckInit(now);
  return OkStatus();
}

reigen::Status CoordinatorCore::HandleLeave(int host, const control::LeaveRequest& leave,
                                            Time now) {
  if (plan_stream_ == nullptr || leave.epoch() != plan_stream_->epoch()) {
    return InvalidArgument("Leave of another epoch");
  }
  const std::vector<int> ranks = Ranks(leave.ranks());
  REIGEN_RETURN_IF_ERROR(membership_.Leave(host, ranks, now));
  plan_stream_->Leave(ranks);
  return OkStatus();
}

reigen::Status CoordinatorCore::HandleRankEnded(int host, const control::RankEnded& ended,
                                                Time now) {
  const int rank = ended.rank();
  const bool known_rank = rank >= 0 && static_cast<size_t>(rank) < membership_.ranks().size();
  const bool was_member = known_rank && membership_.ranks()[rank].state == RankState::kMember;
  const bool was_leaving = known_rank && membership_.IsLeaving(rank);
  REIGEN_RETURN_IF_ERROR(membership_.End(host, rank, ended.code(), now));
  control::RankEnded known = ended;
  known.set_attached(ended.attached() || was_member);
  if (auto verdict = VerdictOf(known, membership_)) {
    // Who was leaving may have been the cause of this end, and end badly itself.
    if (!was_leaving && membership_.AnyLeaving()) {
      life_.Suspect(std::move(*verdict), now);
    } else if (was_leaving || !life_.suspects()) {
      Decide(std::move(*verdict), now);
    }
  }
  CheckInit(now);
  return OkStatus();
}

reigen::Status CoordinatorCore::HandleLinkLost(int host, const control::LinkLost& lost,
                                               Time now) {
  const int peer = lost.peer_host();
  if (peer < 0 || static_cast<size_t>(peer) >= membership_.hosts().size() || peer == host) {
    return InvalidArgument("lost link to host " + std::to_string(peer));
  }
  const std::string text = membership_.HostText(host) + " lost its link to " +
                           membership_.HostText(peer) + ": " + lost.reason();
  Log(true, text);
  life_.ComplainOfLink({.code = kHostLost, .reason = text, .host = peer}, now);
  return OkStatus();
}

reigen::Status CoordinatorCore::HandlePlanFailed(int host, const control::PlanFailed& failed,
                                                 Time now) {
  Decide({.code = kHostLost,
          .reason = membership_.HostText(host) + ": plan " + std::to_string(failed.sequence()) +
                    " failed: " + failed.reason(),
          .host = host},
         now);
  return OkStatus();
}

}  // namespace reigen::coordinator
