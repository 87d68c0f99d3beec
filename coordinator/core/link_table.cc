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

bool OverRdma(const HostMember& a, const HostMember& b) {
  return WhyNotRdma(RdmaOf(a), RdmaOf(b)).empty();
}

std::string Line(const HostMember& a, const HostMember& b) {
  std::string line = End(a) + " - " + End(b) + ": ";
  const std::string why_not = WhyNotRdma(RdmaOf(a), RdmaOf(b));
  if (why_not.empty()) return line + "rdma";
  line += HasTcp(a) && HasTcp(b) ? "tcp" : "none";
  // An end that has none says why itself.
  if (HasRdma(a) && HasRdma(b)) line += "; " + why_not;
  for (const HostMember* host : {&a, &b}) {
    const std::string& reason = host->attached.transport_reason();
    if (!reason.empty()) line += "; " + host->config.name + ": " + Shortened(reason, kMaxReasonBytes);
  }
  return line;
}

using Pair = std::pair<size_t, size_t>;

// Hosts by what they speak over RDMA: of that there are few kinds. Of two groups all hosts
// can talk to each other, or none.
struct Groups {
  explicit Groups(const std::vector<HostMember>& hosts) {
    std::map<std::vector<std::string>, std::vector<size_t>> by_kinds;
    for (size_t host = 0; host < hosts.size(); ++host) {
      by_kinds[RdmaOf(hosts[host]).kinds].push_back(host);
    }
    by_kinds.erase(std::vector<std::string>());
    for (auto a = by_kinds.begin(); a != by_kinds.end(); ++a) {
      pairs_over_rdma += a->second.size() * (a->second.size() - 1) / 2;
      for (auto b = std::next(a); b != by_kinds.end(); ++b) {
        if (WhyNotRdma({"", a->first}, {"", b->first}).empty()) {
          pairs_over_rdma += a->second.size() * b->second.size();
        } else {
          differ.emplace_back(a->second.front(), b->second.front());
        }
      }
    }
  }

  size_t pairs_over_rdma = 0;
  std::vector<Pair> differ;  // one of each two groups that have RDMA and cannot talk
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

}  // namespace

LinkTable DescribeLinks(const std::vector<HostMember>& hosts) {
  LinkTable table;
  const Groups groups(hosts);
  table.warning = !groups.differ.empty() ||
                  std::any_of(hosts.begin(), hosts.end(), [](const HostMember& host) {
                    return !host.attached.transport_reason().empty();
                  });
  table.text = table.warning ? "links go over TCP, not RDMA, where one of their ends has none or "
                               "they do not speak the same (--transport tcp asks for that):"
                             : "links:";
  const size_t pairs = hosts.size() * (hosts.size() - 1) / 2;
  size_t tcp = pairs - groups.pairs_over_rdma;
  const std::vector<Pair> shown = Shown(hosts, groups);
  for (const auto& [a, b] : shown) {
    table.text += "\n    " + Line(hosts[a], hosts[b]);
    if (!OverRdma(hosts[a], hosts[b])) --tcp;
  }
  if (shown.size() < pairs) {
    table.text += "\n    and " + std::to_string(pairs - shown.size()) + " more, " +
                  std::to_string(tcp) + " of them over tcp";
  }
  return table;
}

}  // namespace reigen::coordinator
