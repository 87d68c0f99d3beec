#include "coordinator/core/awaited.h"

#include <algorithm>

#include "coordinator/core/text.h"
#include "coordinator/limits.h"

namespace reigen::coordinator {
namespace {

// A time of wait that a worker may claim; others are taken for zero.
constexpr double kMaxSeconds = 1e9;

Time TimeBefore(Time now, double wait_seconds) {
  if (!(wait_seconds > 0) || wait_seconds > kMaxSeconds) return now;
  return now - std::chrono::duration_cast<Duration>(std::chrono::duration<double>(wait_seconds));
}

}  // namespace

int WaitingLimit() { return kMaxWaitingPerHost; }

void WaitingReports::Insert(int host, const control::Waiting& waiting, Time now) {
  if (waiting.name().empty() || waiting.name().size() > kMaxNameBytes) return;
  by_host_[host][waiting.name()] = {
      .missing = {waiting.missing_ranks().begin(), waiting.missing_ranks().end()},
      .since = TimeBefore(now, waiting.seconds())};
}

void WaitingReports::Remove(const std::string& name) {
  for (auto& reports : by_host_) reports.erase(name);
}

std::vector<Awaited> WaitingReports::Collect(const Negotiation& negotiation, Time now,
                                             Duration age) const {
  std::map<std::string, Time> since;
  for (const auto& [name, pending] : negotiation.pending()) since.emplace(name, pending.since);
  for (const auto& reports : by_host_) {
    for (const auto& [name, report] : reports) {
      const auto [it, inserted] = since.emplace(name, report.since);
      if (!inserted) it->second = std::min(it->second, report.since);
    }
  }
  std::vector<Awaited> all;
  for (const auto& [name, start] : since) {
    if (now - start < age) continue;
    Awaited awaited{.name = name, .since = start, .why = "not enqueued there"};
    const auto pending = negotiation.pending().find(name);
    for (size_t host = 0; host < by_host_.size(); ++host) {
      const bool announced =
          pending != negotiation.pending().end() && pending->second.announced[host];
      const auto report = by_host_[host].find(name);
      const bool reported = report != by_host_[host].end();
      for (int rank : negotiation.host_ranks()[host]) {
        const bool has =
            announced || (reported && std::count(report->second.missing.begin(),
                                                 report->second.missing.end(), rank) == 0);
        (has ? awaited.have : awaited.missing).push_back(rank);
      }
    }
    // All have it: its last Ready is on the way.
    if (!awaited.missing.empty()) all.push_back(std::move(awaited));
  }
  return all;
}

std::optional<Awaited> AwaitedInit(const Membership& membership) {
  Awaited awaited{.name = "init", .since = Time::max(), .is_init = true};
  std::vector<int> members;
  for (size_t i = 0; i < membership.ranks().size(); ++i) {
    const RankMember& rank = membership.ranks()[i];
    const int number = static_cast<int>(i);
    if (rank.state == RankState::kInInit) {
      awaited.have.push_back(number);
      awaited.since = std::min(awaited.since, rank.since);
    } else {
      awaited.missing.push_back(number);
      if (rank.state == RankState::kMember) members.push_back(number);
    }
  }
  if (awaited.have.empty() || awaited.missing.empty()) return std::nullopt;
  awaited.why = members.empty()
                    ? "not called there"
                    : RankText(members) + (members.size() == 1 ? " is" : " are") +
                          " still in the epoch before";
  return awaited;
}

}  // namespace reigen::coordinator
