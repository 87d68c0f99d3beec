#include "coordinator/core/negotiation.h"

#include <algorithm>

#include "coordinator/core/text.h"
#include "coordinator/limits.h"
#include "runtime/base/check.h"

namespace reigen::coordinator {

using local::ResultCode;

Negotiation::Negotiation(std::vector<std::vector<int>> host_ranks)
    : host_ranks_(std::move(host_ranks)) {
  for (const auto& ranks : host_ranks_) size_ += static_cast<int>(ranks.size());
  host_of_rank_.resize(size_, -1);
  for (size_t host = 0; host < host_ranks_.size(); ++host) {
    for (int rank : host_ranks_[host]) {
      REIGEN_CHECK(rank >= 0 && rank < size_ && host_of_rank_[rank] < 0, "ranks are not 0...n-1");
      host_of_rank_[rank] = static_cast<int>(host);
    }
  }
}

// Every rank is one of the host's and stands in one group; when all agree, none
// that is still there is missing.
Status Negotiation::CheckRanks(int host, const std::vector<SpecGroup>& groups) const {
  std::set<int> seen;
  for (const SpecGroup& group : groups) {
    for (int rank : group.ranks) {
      if (rank < 0 || rank >= size_ || host_of_rank_[rank] != host) {
        return InvalidArgument("rank " + std::to_string(rank) + " is not of this host");
      }
      if (!seen.insert(rank).second) {
        return InvalidArgument("rank " + std::to_string(rank) + " is there twice");
      }
    }
  }
  if (groups.size() == 1) {
    for (int rank : host_ranks_[host]) {
      if (!seen.count(rank) && !left_.count(rank)) {
        return InvalidArgument("rank " + std::to_string(rank) + " is missing");
      }
    }
  }
  return OkStatus();
}

Status Negotiation::Announce(int host, const std::string& name, std::vector<SpecGroup> groups,
                             Time now) {
  REIGEN_CHECK(host >= 0 && static_cast<size_t>(host) < host_ranks_.size(), "no such host");
  if (groups.empty()) return InvalidArgument(name + ": announced without a description");
  REIGEN_RETURN_IF_ERROR(Annotate(CheckRanks(host, groups), name));
  if (!left_.empty()) {
    verdicts_.push_back({name, ResultCode::kFailedPrecondition, LeftReason(name), nullptr});
    return OkStatus();
  }
  if (pending_.size() >= kMaxPending) return ResourceExhausted("too many requests are pending");

  Pending& pending = pending_[name];
  if (pending.announced.empty()) {
    pending.announced.resize(host_ranks_.size());
    pending.since = now;
  }
  if (pending.announced[host]) return InvalidArgument(name + ": announced twice");
  pending.announced[host] = true;
  ++pending.hosts;
  const size_t described = groups.size();
  for (SpecGroup& group : groups) {
    const auto same = std::find_if(
        pending.groups.begin(), pending.groups.end(), [&](const SpecGroup& known) {
          return known.spec == group.spec || SameSpec(*known.spec, *group.spec);
        });
    if (same == pending.groups.end()) {
      pending.groups.push_back(std::move(group));
    } else {
      same->ranks.insert(same->ranks.end(), group.ranks.begin(), group.ranks.end());
    }
  }
  if (pending.groups.size() < described) {
    return InvalidArgument(name + ": the same description twice");
  }
  if (pending.groups.size() > 1 || pending.hosts == host_ranks_.size()) {
    const Pending decided = std::move(pending);
    pending_.erase(name);
    Decide(name, decided);
  }
  return OkStatus();
}

void Negotiation::Decide(const std::string& name, const Pending& pending) {
  if (pending.groups.size() > 1) {
    verdicts_.push_back({name, ResultCode::kFailedPrecondition,
                         DescribeMismatch(name, pending.groups), nullptr});
    return;
  }
  const auto& spec = pending.groups.front().spec;
  const Status supported = CheckSupported(name, *spec, size_);
  if (!supported.ok()) {
    verdicts_.push_back({name, ResultCode::kInvalidArgument, Message(supported), nullptr});
    return;
  }
  verdicts_.push_back({name, ResultCode::kOk, "", spec});
}

std::string Negotiation::LeftReason(const std::string& name) const {
  const std::vector<int> left(left_.begin(), left_.end());
  return Shortened(name + ": " + RankText(left) + (left.size() == 1 ? " has left" : " have left"),
                   kMaxReasonBytes);
}

void Negotiation::Leave(const std::vector<int>& ranks) {
  left_.insert(ranks.begin(), ranks.end());
  // By name: the order of a hash table is nobody's business.
  std::set<std::string> names;
  for (const auto& [name, pending] : pending_) names.insert(name);
  for (const std::string& name : names) {
    Fail(name, ResultCode::kFailedPrecondition, LeftReason(name));
  }
}

void Negotiation::Fail(const std::string& name, ResultCode code, const std::string& reason) {
  pending_.erase(name);
  verdicts_.push_back({name, code, Shortened(reason, kMaxReasonBytes), nullptr});
}

std::vector<NegotiationVerdict> Negotiation::Take() { return std::exchange(verdicts_, {}); }

}  // namespace reigen::coordinator
