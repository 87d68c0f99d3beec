#include "coordinator/core/membership.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace reigen::coordinator {

std::string Name(RankState state) {
  switch (state) {
    case RankState::kStarting: return "starting";
    case RankState::kInInit: return "in init";
    case RankState::kMember: return "member";
    case RankState::kLeft: return "left";
    case RankState::kEnded: return "ended";
  }
  return "invalid";
}

Membership::Membership(const JobConfig& config, Time now) : incarnation_(config.incarnation) {
  size_t size = 0;
  for (const HostConfig& host : config.hosts) {
    hosts_.push_back({.config = host, .attached = {}, .heard = now});
    size += host.ranks.size();
  }
  ranks_.resize(size);
  for (size_t host = 0; host < hosts_.size(); ++host) {
    for (int rank : hosts_[host].config.ranks) {
      REIGEN_CHECK(rank >= 0 && static_cast<size_t>(rank) < size, "ranks are not 0...n-1");
      ranks_[rank].host = static_cast<int>(host);
      ranks_[rank].since = now;
    }
  }
}

Status Membership::CheckRank(int host, int rank) const {
  if (rank < 0 || static_cast<size_t>(rank) >= ranks_.size() || ranks_[rank].host != host) {
    return InvalidArgument("rank " + std::to_string(rank) + " is not of this host");
  }
  if (ranks_[rank].state == RankState::kEnded) {
    return InvalidArgument("rank " + std::to_string(rank) + " has ended");
  }
  return OkStatus();
}

void Membership::Enter(int rank, RankState state, Time now) {
  ranks_[rank].state = state;
  ranks_[rank].since = now;
}

Status Membership::Attach(int host, const control::Attached& attached, Time now) {
  if (hosts_[host].is_attached) return InvalidArgument("attached twice");
  hosts_[host].attached = attached;
  hosts_[host].is_attached = true;
  hosts_[host].heard = now;
  return OkStatus();
}

void Membership::Forgive(Duration pause) {
  for (HostMember& host : hosts_) host.heard += pause;
}

std::vector<int> Membership::Silent(Time now, Duration limit) const {
  std::vector<int> silent;
  for (size_t host = 0; host < hosts_.size(); ++host) {
    if (hosts_[host].is_attached && now - hosts_[host].heard >= limit) {
      silent.push_back(static_cast<int>(host));
    }
  }
  return silent;
}

Status Membership::Init(int host, const std::vector<int>& ranks, Time now) {
  for (int rank : ranks) {
    REIGEN_RETURN_IF_ERROR(CheckRank(host, rank));
    const RankState state = ranks_[rank].state;
    if (state != RankState::kStarting && state != RankState::kLeft) {
      return InvalidArgument("rank " + std::to_string(rank) + " calls init, but is " +
                             (state == RankState::kMember ? "a member" : "in init"));
    }
    ranks_[rank].before_init = state;
    Enter(rank, RankState::kInInit, now);
  }
  return OkStatus();
}

Status Membership::Leave(int host, const std::vector<int>& ranks, Time now) {
  for (int rank : ranks) {
    REIGEN_RETURN_IF_ERROR(CheckRank(host, rank));
    if (ranks_[rank].state != RankState::kMember) {
      return InvalidArgument("rank " + std::to_string(rank) + " leaves, but is no member");
    }
    Enter(rank, RankState::kLeft, now);
  }
  return OkStatus();
}

Status Membership::End(int host, int rank, int code, Time now) {
  REIGEN_RETURN_IF_ERROR(CheckRank(host, rank));
  ranks_[rank].code = code;
  Enter(rank, RankState::kEnded, now);
  return OkStatus();
}

Status Membership::Finish(int host) {
  for (int rank : hosts_[host].config.ranks) {
    if (ranks_[rank].state != RankState::kEnded) {
      return InvalidArgument("finished, but rank " + std::to_string(rank) + " has not ended");
    }
  }
  hosts_[host].finished = true;
  return OkStatus();
}

bool Membership::AllInInit() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const RankMember& r) { return r.state == RankState::kInInit; });
}

void Membership::BeginEpoch(Time now) {
  ++counter_;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    Enter(static_cast<int>(rank), RankState::kMember, now);
    ranks_[rank].came_back = false;
  }
}

void Membership::AbandonInit(Time now) {
  for (int rank : InState(RankState::kInInit)) {
    Enter(rank, ranks_[rank].before_init, now);
    ranks_[rank].came_back = true;
  }
}

bool Membership::AnyLeaving() const {
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (IsLeaving(static_cast<int>(rank))) return true;
  }
  return false;
}

std::vector<int> Membership::InState(RankState state) const {
  std::vector<int> in_state;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].state == state) in_state.push_back(static_cast<int>(rank));
  }
  return in_state;
}

std::vector<int> Membership::AttachedHosts() const {
  std::vector<int> attached;
  for (size_t host = 0; host < hosts_.size(); ++host) {
    if (hosts_[host].is_attached) attached.push_back(static_cast<int>(host));
  }
  return attached;
}

bool Membership::AllFinished() const {
  return std::all_of(hosts_.begin(), hosts_.end(),
                     [](const HostMember& host) { return host.finished; });
}

std::vector<std::vector<int>> Membership::HostRanks() const {
  std::vector<std::vector<int>> host_ranks;
  for (const HostMember& host : hosts_) host_ranks.push_back(host.config.ranks);
  return host_ranks;
}

std::string Membership::HostText(int host) const {
  return "host " + std::to_string(host) + " (" + hosts_[host].config.name + ")";
}

}  // namespace reigen::coordinator
