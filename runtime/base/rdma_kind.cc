#include "runtime/base/rdma_kind.h"

#include <algorithm>
#include <cstddef>

namespace reigen {
namespace {

constexpr char kPrefix[] = "rdma-kind:";

std::string Joined(const std::vector<std::string>& kinds) {
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : " and ") + kind;
  return text;
}

void SortOnce(std::vector<std::string>& kinds) {
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
}

}  // namespace

const char kRdmaKindRemedy[] =
    "--rdma-devices and --rdma-gid-index choose ports and addresses of one kind, --transport tcp "
    "goes without";

std::vector<std::string> RdmaKindAddresses(const std::vector<std::string>& kinds) {
  std::vector<std::string> addresses;
  for (const std::string& kind : kinds) addresses.push_back(kPrefix + kind);
  SortOnce(addresses);
  return addresses;
}

std::vector<std::string> RdmaKindsIn(const std::vector<std::string>& link_addresses) {
  std::vector<std::string> kinds;
  for (const std::string& address : link_addresses) {
    if (address.starts_with(kPrefix)) kinds.push_back(address.substr(sizeof kPrefix - 1));
  }
  SortOnce(kinds);
  return kinds;
}

std::string WhyNotRdma(const RdmaEnd& a, const RdmaEnd& b) {
  for (const RdmaEnd* end : {&a, &b}) {
    if (end->kinds.empty()) return end->name + " has no RDMA";
  }
  const bool common = std::any_of(a.kinds.begin(), a.kinds.end(), [&](const std::string& kind) {
    return std::find(b.kinds.begin(), b.kinds.end(), kind) != b.kinds.end();
  });
  if (common) return "";
  return a.name + " speaks " + Joined(a.kinds) + ", " + b.name + " " + Joined(b.kinds) + " (" +
         kRdmaKindRemedy + ")";
}

}  // namespace reigen
