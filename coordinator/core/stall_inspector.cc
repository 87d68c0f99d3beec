#include "coordinator/core/stall_inspector.h"

#include <algorithm>
#include <set>

#include "coordinator/core/text.h"
#include "coordinator/limits.h"
#include "runtime/base/number_list.h"

namespace reigen::coordinator {
namespace {

// Names in a line that says what recovered.
constexpr size_t kMaxNamesInLine = 5;

std::string NamesOf(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMaxNamesInLine; ++i) {
    text += (i > 0 ? ", " : "") + names[i];
  }
  if (names.size() > kMaxNamesInLine) {
    text += " and " + std::to_string(names.size() - kMaxNamesInLine) + " more";
  }
  return text;
}

}  // namespace

std::string AwaitedText(const Awaited& awaited, const Membership& membership, Time now) {
  std::set<int> hosts;
  for (int rank : awaited.missing) hosts.insert(membership.ranks()[rank].host);
  std::string host_text;
  for (int host : hosts) {
    if (!host_text.empty()) host_text += ", ";
    host_text += membership.HostText(host);
  }
  return awaited.name + ": have " + NumberList(awaited.have) + ", missing " +
         NumberList(awaited.missing) + " on " + host_text + " (" + awaited.why + "), for " +
         SecondsText(now - awaited.since);
}

// What a warning named and is not awaited any more, or is again since later.
std::string StallInspector::Recovered(const std::vector<Awaited>& awaited, Time now) {
  std::vector<std::string> names;
  Duration longest{};
  std::set<int> ranks;
  for (auto it = warned_.begin(); it != warned_.end();) {
    const auto still = std::find_if(awaited.begin(), awaited.end(), [&](const Awaited& a) {
      return a.name == it->first && a.since < it->second.at;
    });
    if (still != awaited.end()) {
      ++it;
      continue;
    }
    names.push_back(it->first);
    longest = std::max(longest, now - it->second.since);
    ranks.insert(it->second.missing.begin(), it->second.missing.end());
    it = warned_.erase(it);
  }
  if (names.empty()) return "";
  return "recovered: " + NamesOf(names) + " after up to " + SecondsText(longest) +
         "; had waited for " + RankText({ranks.begin(), ranks.end()});
}

StallReport StallInspector::Inspect(const std::vector<Awaited>& awaited,
                                    const Membership& membership, Time now) {
  StallReport report;
  if (!enabled()) return report;
  report.recovered = Recovered(awaited, now);
  bool late = false;
  bool too_late = false;
  for (const Awaited& a : awaited) {
    late |= now - a.since >= warning_;
    too_late |=
        !a.is_init && shutdown_ > Duration::zero() && now - a.since >= shutdown_;
  }
  const bool warn = late && (last_warning_ == Time{} || now - last_warning_ >= warning_);
  if (!warn && !too_late) return report;

  std::string lines;
  std::string names;
  size_t count = 0;
  for (const Awaited& a : awaited) {
    if (now - a.since < MinAge()) continue;
    const std::string line = AwaitedText(a, membership, now);
    if (count++ < kMaxStallLines) lines += "\n  " + line;
    if (!a.is_init) names += (names.empty() ? "" : "; ") + line;
    if (warn) warned_.try_emplace(a.name, Warned{a.since, now, a.missing});
  }
  if (count > kMaxStallLines) {
    lines += "\n  and " + std::to_string(count - kMaxStallLines) + " more";
  }
  if (warn) {
    last_warning_ = now;
    report.warning = "stalled: some ranks wait for what others have not enqueued:" + lines;
  }
  if (too_late) {
    report.shutdown = "stalled for over " + SecondsText(shutdown_) + ": " + names;
  }
  return report;
}

}  // namespace reigen::coordinator
