#include "runtime/base/rdma_kind.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <system_error>
#include <utility>

namespace reigen {
namespace {

constexpr char kPrefix[] = "rdma-kind:";
constexpr char kInfiniBand[] = "InfiniBand";
constexpr char kWithPkey[] = " with PKey 0x";

std::string Joined(const std::vector<std::string>& kinds) {
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : " and ") + kind;
  return text;
}

// Its network and PKey.
std::pair<std::string, uint16_t> Parted(const std::string& kind) {
  const size_t at = kind.rfind(kWithPkey);
  if (at == std::string::npos) return {kind, kDefaultPkey};
  const std::string digits = kind.substr(at + sizeof kWithPkey - 1);
  uint16_t pkey = 0;
  const char* const end = digits.data() + digits.size();
  const auto [parsed_to, error] = std::from_chars(digits.data(), end, pkey, 16);
  if (error != std::errc() || parsed_to != end) return {kind, kDefaultPkey};
  return {kind.substr(0, at), pkey};
}

template <typename Fits>
bool AnyTwo(const std::vector<std::string>& a, const std::vector<std::string>& b, Fits fits) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& one) {
    return std::any_of(b.begin(), b.end(),
                       [&](const std::string& other) { return fits(one, other); });
  });
}

void SortOnce(std::vector<std::string>& kinds) {
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
}

}  // namespace

std::string RdmaKind(const std::string& network, uint16_t pkey) {
  char digits[8];
  std::snprintf(digits, sizeof digits, "%04x", pkey);
  return network + kWithPkey + digits;
}

bool RdmaKindsTalk(const std::string& a, const std::string& b) {
  const auto [network, pkey] = Parted(a);
  const auto [other_network, other_pkey] = Parted(b);
  return network == other_network && (pkey | kFullMember) == (other_pkey | kFullMember) &&
         ((pkey | other_pkey) & kFullMember) != 0;
}

std::string RdmaKindRemedy(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const bool same_network = AnyTwo(a, b, [](const std::string& one, const std::string& other) {
    return Parted(one).first == Parted(other).first;
  });
  if (same_network) {
    return "ports talk inside one partition, of which one of them is a full member (0x8000 and "
           "above): REIGEN_RDMA_PKEY on each host chooses it, the subnet manager gives it, "
           "--transport tcp goes without";
  }
  const bool both_infiniband = AnyTwo(a, b, [](const std::string& one, const std::string& other) {
    return one.starts_with(kInfiniBand) && other.starts_with(kInfiniBand);
  });
  if (both_infiniband) {
    return "links stay inside one InfiniBand subnet: --rdma-devices chooses ports of one, "
           "--transport tcp goes without";
  }
  return "--rdma-devices and --rdma-gid-index choose ports and addresses of one kind, --transport "
         "tcp goes without";
}

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
  if (AnyTwo(a.kinds, b.kinds, RdmaKindsTalk)) return "";
  return a.name + " speaks " + Joined(a.kinds) + ", " + b.name + " " + Joined(b.kinds) + " (" +
         RdmaKindRemedy(a.kinds, b.kinds) + ")";
}

}  // namespace reigen
