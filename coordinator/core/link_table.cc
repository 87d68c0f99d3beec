#include "coordinator/core/link_table.h"

#include <algorithm>

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

std::string Line(const HostMember& a, const HostMember& b) {
  std::string line = End(a) + " - " + End(b) + ": ";
  if (HasRdma(a) && HasRdma(b)) return line + "rdma";
  line += "tcp";
  for (const HostMember* host : {&a, &b}) {
    const std::string& reason = host->attached.transport_reason();
    if (!reason.empty()) line += "; " + host->config.name + ": " + Shortened(reason, kMaxReasonBytes);
  }
  return line;
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
  const size_t pairs = hosts.size() * (hosts.size() - 1) / 2;
  size_t lines = 0;
  for (size_t a = 0; a < hosts.size() && lines < kMaxLinkLines; ++a) {
    for (size_t b = a + 1; b < hosts.size() && lines < kMaxLinkLines; ++b, ++lines) {
      table.text += "\n    " + Line(hosts[a], hosts[b]);
    }
  }
  if (lines < pairs) table.text += "\n    and " + std::to_string(pairs - lines) + " more";
  return table;
}

}  // namespace reigen::coordinator
