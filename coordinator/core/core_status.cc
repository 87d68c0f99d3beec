// What reigenctl shows of a job.
#include "coordinator/core/core.h"
#include "coordinator/core/text.h"

namespace reigen::coordinator {
namespace {

void AddHosts(const Membership& membership, Time now, control::JobStatus& status) {
  for (size_t number = 0; number < membership.hosts().size(); ++number) {
    const HostMember& host = membership.hosts()[number];
    control::HostStatus& out = *status.add_hosts();
    out.set_host(static_cast<int>(number));
    out.set_name(host.config.name);
    out.set_attached(host.is_attached);
    if (host.is_attached) out.set_heartbeat_age_seconds(ToSeconds(now - host.heard));
    for (int rank : host.config.ranks) out.add_ranks(rank);
    *out.mutable_link_addresses() = host.attached.link_addresses();
    out.set_network_reason(host.attached.network_reason());
  }
}

void AddRanks(const Membership& membership, Time now, control::JobStatus& status) {
  for (size_t number = 0; number < membership.ranks().size(); ++number) {
    const RankMember& rank = membership.ranks()[number];
    control::RankStatus& out = *status.add_ranks();
    out.set_rank(static_cast<int>(number));
    out.set_host(rank.host);
    out.set_state(Name(rank.state));
    out.set_state_seconds(ToSeconds(now - rank.since));
    out.set_code(rank.code);
  }
}

}  // namespace

control::JobStatus CoordinatorCore::Status(Time now) const {
  control::JobStatus status;
  status.set_job(config_.job);
  status.set_epoch(membership_.epoch());
  status.set_state(StateText());
  AddHosts(membership_, now, status);
  AddRanks(membership_, now, status);
  for (const Awaited& awaited : AwaitedFor(Duration::zero(), now)) {
    control::AwaitedStatus& out = *status.add_awaited();
    out.set_name(awaited.name);
    int last_host = -1;
    for (int rank : awaited.have) out.add_have_ranks(rank);
    for (int rank : awaited.missing) {
      out.add_missing_ranks(rank);
      const int host = membership_.ranks()[rank].host;
      if (std::exchange(last_host, host) != host) {
        out.add_missing_hosts(membership_.hosts()[host].config.name);
      }
    }
    out.set_seconds(ToSeconds(now - awaited.since));
    out.set_why(awaited.why);
  }
  if (plan_stream_ != nullptr) {
    status.set_plans(plan_stream_->plans());
    status.set_failures(plan_stream_->failures());
  }
  return status;
}

std::string CoordinatorCore::StateText() const {
  if (life_.verdict()) return "ending: " + life_.verdict()->reason;
  for (size_t host = 0; host < membership_.hosts().size(); ++host) {
    if (!membership_.hosts()[host].is_attached) {
      return "starting: waiting for the worker of " + membership_.HostText(static_cast<int>(host));
    }
  }
  if (const auto init = AwaitedInit(membership_)) {
    return "waiting for " + RankText(init->missing) + " to call init (" + init->why + ")";
  }
  const size_t members = membership_.InState(RankState::kMember).size();
  if (members == membership_.ranks().size()) return "running";
  const std::vector<int> left = membership_.InState(RankState::kLeft);
  if (!left.empty()) return RankText(left) + (left.size() == 1 ? " has left" : " have left");
  const std::vector<int> ended = membership_.InState(RankState::kEnded);
  if (!ended.empty()) return RankText(ended) + (ended.size() == 1 ? " has ended" : " have ended");
  return "starting: no rank has called init";
}

}  // namespace reigen::coordinator
