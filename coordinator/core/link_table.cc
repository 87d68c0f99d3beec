#include "coordinator/core/link_table.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "coordinator/core/text.h"
#include "coordinator/limits.h"
#include "runtime/base/rdma_kind.h"

namespace reigen::coordinator {
namespace {

RdmaEnd RdmaOf(const HostMember& host) {
  const auto& addresses = host.attached.link_addresses();
  return {host.config.name, RdmaKindsIn({addresses.begin(), addresses.end()})};
}

bool HasRdma(const HostMember& host) { return !RdmaOf(host).kinds.empty(); }

bool HasTcp(const HostMember& host) {
  const auto& addresses = host.attached.link_addresses();
  return std::any_of(addresses.begin(), addresses.end(),
                     [](const std::string& address) { return address.starts_with("tcp:"); });
}

std::string End(const HostMember& host) {
  return RankText(host.config.ranks) + " (" + host.config.name + ")";
}

enum class Way { kRdma, kTcp, kNone };

Way WayBetween(const HostMember& a, const HostMember& b) {
  if (WhyNotRdma(RdmaOf(a), RdmaOf(b)).empty()) return Way::kRdma;
  return HasTcp(a) && HasTcp(b) ? Way::kTcp : Way::kNone;
}

std::string Line(const HostMember& a, const HostMember& b) {
  constexpr const char* kWays[] = {"rdma", "tcp", "none"};
  const Way way = WayBetween(a, b);
  std::string line = End(a) + " - " + End(b) + ": " + kWays[static_cast<size_t>(way)];
  if (way == Way::kRdma) return line;
  // An end that has none says why itself.
  if (HasRdma(a) && HasRdma(b)) line += "; " + WhyNotRdma(RdmaOf(a), RdmaOf(b));
  for (const HostMember* host : {&a, &b}) {
    const std::string& reason = host->attached.transport_reason();
    if (!reason.empty()) line += "; " + host->config.name + ": " + Shortened(reason, kMaxReasonBytes);
  }
  return line;
}

using Pair = std::pair<size_t, size_t>;

// How many pairs have no RDMA.
struct Without {
  size_t tcp = 0;
  size_t none = 0;

  size_t& of(Way way) { return way == Way::kTcp ? tcp : none; }
};

// Hosts by what they can: of that there are few kinds. Of two groups (or of one) all pairs
// have the same way.
struct Groups {
  explicit Groups(const std::vector<HostMember>& hosts) {
    std::map<std::pair<std::vector<std::string>, bool>, std::vector<size_t>> alike;
    for (size_t host = 0; host < hosts.size(); ++host) {
      alike[{RdmaOf(hosts[host]).kinds, HasTcp(hosts[host])}].push_back(host);
    }
    for (auto a = alike.begin(); a != alike.end(); ++a) {
      const std::vector<size_t>& group = a->second;
      const HostMember& first = hosts[group.front()];
      const Way inside = WayBetween(first, first);
      Count(inside, group.size() * (group.size() - 1) / 2);
      // Limited members of a partition do not talk to their like.
      if (inside != Way::kRdma && HasRdma(first) && group.size() > 1) {
        differ.emplace_back(group[0], group[1]);
      }
      for (auto b = std::next(a); b != alike.end(); ++b) {
        const HostMember& other = hosts[b->second.front()];
        const Way way = WayBetween(first, other);
        Count(way, group.size() * b->second.size());
        if (way == Way::kRdma || !HasRdma(first) || !HasRdma(other)) continue;
        differ.emplace_back(group.front(), b->second.front());
      }
    }
  }

  void Count(Way way, size_t pairs) {
    if (way != Way::kRdma) without.of(way) += pairs;
  }

  Without without;
  std::vector<Pair> differ;  // one of each two groups, or of one, that have RDMA and cannot talk
};

// At most kMaxLinkLines, in order; where there are more: each host without RDMA once, one
// pair of each two groups that cannot talk, then the others of hosts that have none.
std::vector<Pair> Shown(const std::vector<HostMember>& hosts, const Groups& groups) {
  std::vector<Pair> shown;
  const auto full = [&] { return shown.size() == kMaxLinkLines; };
  const auto add = [&](size_t a, size_t b) {
    const Pair pair = std::minmax(a, b);
    if (a == b || full() || std::find(shown.begin(), shown.end(), pair) != shown.end()) return;
    shown.push_back(pair);
  };
  const size_t n = hosts.size();
  if (n * (n - 1) / 2 > kMaxLinkLines) {
    for (size_t host = 0; host < n && !full(); ++host) {
      if (!HasRdma(hosts[host])) add(host, host == 0 ? 1 : 0);
    }
    for (const auto& [a, b] : groups.differ) add(a, b);
    for (size_t host = 0; host < n && !full(); ++host) {
      for (size_t peer = 0; peer < n && !full() && !HasRdma(hosts[host]); ++peer) add(host, peer);
    }
  }
  for (size_t a = 0; a < n && !full(); ++a) {
    for (size_t b = a + 1; b < n && !full(); ++b) add(a, b);
  }
  return shown;
}

std::string Title(bool warning, const Without& without) {
  if (!warning) return "links:";
  if (without.none > 0 && without.tcp == 0) {
    return "some hosts cannot be linked: they do not speak the same over RDMA, and --transport rdma "
           "goes without TCP:";
  }
  return "links go over TCP, not RDMA, where one of their ends has none or they do not speak the "
         "same (--transport tcp asks for that):";
}

// Of the pairs that are not shown.
std::string Rest(size_t pairs, const Without& without) {
  std::string text = "\n    and " + std::to_string(pairs) + " more";
  if (without.tcp > 0 || without.none == 0) {
    text += ", " + std::to_string(without.tcp) + " of them over tcp";
  }
  if (without.none > 0) text += ", " + std::to_string(without.none) + " of them without a link";
  return text;
}

}  // namespace

LinkTable DescribeLinks(const std::vector<HostMember>& hosts) {
  LinkTable table;
  const Groups groups(hosts);
  table.warning = !groups.differ.empty() ||
                  std::any_of(hosts.begin(), hosts.end(), [](const HostMember& host) {
                    return !host.attached.transport_reason().empty();
                  });
  table.text = Title(table.warning, groups.without);
  const auto refused = std::find_if(groups.differ.begin(), groups.differ.end(), [&](const Pair& pair) {
    return WayBetween(hosts[pair.first], hosts[pair.second]) == Way::kNone;
  });
  if (refused != groups.differ.end()) {
    const auto [a, b] = std::minmax(refused->first, refused->second);
    table.refused_host = static_cast<int>(b);
    table.refusal = "RDMA was asked for, and " + End(hosts[a]) + " and " + End(hosts[b]) +
                    " cannot talk over it: " + WhyNotRdma(RdmaOf(hosts[a]), RdmaOf(hosts[b]));
  }
  Without rest = groups.without;
  const std::vector<Pair> shown = Shown(hosts, groups);
  for (const auto& [a, b] : shown) {
    table.text += "\n    " + Line(hosts[a], hosts[b]);
    const Way way = WayBetween(hosts[a], hosts[b]);
    if (way != Way::kRdma) --rest.of(way);
  }
  const size_t pairs = hosts.size() * (hosts.size() - 1) / 2;
  if (shown.size() < pairs) table.text += Rest(pairs - shown.size(), rest);
  return table;
}

}  // namespace reigen::coordinator
