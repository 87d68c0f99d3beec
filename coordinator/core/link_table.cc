#include "coordinator/core/link_table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "coordinator/core/text.h"
#include "coordinator/limits.h"

namespace reigen::coordinator {
namespace {

bool HasRdma(const HostMember& host) {
  const auto& addresses = host.attached.link_addresses();
  return std::any_of(addresses.begin(), addresses.end(),
                     [](const std::string& address) { return address.starts_with("rdma:"); });
}

std::string End(const HostMember& host) {
  return RankText(host.config.ranks) + " (" + host.config.name + ")";
}

bool OverRdma(const HostMember& a, const HostMember& b) { return HasRdma(a) && HasRdma(b); }

std::string Line(const HostMember& a, const HostMember& b) {
  std::string line = End(a) + " - " + End(b) + ": ";
  if (OverRdma(a, b)) return line + "rdma";
  line += "tcp";
  for (const HostMember* host : {&a, &b}) {
    const std::string& reason = host->attached.transport_reason();
    if (!reason.empty()) line += "; " + host->config.name + ": " + Shortened(reason, kMaxReasonBytes);
  }
  return line;
}

using Pair = std::pair<size_t, size_t>;

// At most kMaxLinkLines, in order; where there are more: each host without RDMA once, then
// the others that go over TCP.
std::vector<Pair> Shown(const std::vector<HostMember>& hosts) {
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
  table.warning = std::any_of(hosts.begin(), hosts.end(), [](const HostMember& host) {
    return !host.attached.transport_reason().empty();
  });
  table.text = table.warning ? "links go over TCP, not RDMA, where one of their ends has none "
                               "(--transport tcp asks for that):"
                             : "links:";
  const auto able = static_cast<size_t>(std::count_if(hosts.begin(), hosts.end(), HasRdma));
  const size_t pairs = hosts.size() * (hosts.size() - 1) / 2;
  size_t tcp = pairs - able * (able - 1) / 2;
  const std::vector<Pair> shown = Shown(hosts);
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
