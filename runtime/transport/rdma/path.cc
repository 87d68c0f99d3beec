#include "runtime/transport/rdma/path.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "runtime/base/rdma_kind.h"

namespace reigen::transport::rdma {
namespace {

// The field has five bits; 0 is without end.
constexpr uint8_t kMinExponent = 1;
constexpr uint8_t kMaxExponent = 31;

using ByKind = std::map<std::string, std::vector<int>>;  // indexes of rails

ByKind Sorted(const std::vector<RailAddress>& rails) {
  ByKind by_kind;
  for (size_t i = 0; i < rails.size(); ++i) {
    by_kind[KindOf(rails[i])].push_back(static_cast<int>(i));
  }
  return by_kind;
}

// "a0:1, a1:1 and a2:1"
std::string List(const std::vector<RailAddress>& rails, const std::vector<int>& indexes) {
  std::string names;
  for (size_t i = 0; i < indexes.size(); ++i) {
    const RailAddress& rail = rails[static_cast<size_t>(indexes[i])];
    if (i > 0) names += i + 1 == indexes.size() ? " and " : ", ";
    names += rail.device + ":" + std::to_string(rail.port);
  }
  return names;
}

// "here a0:1 and a1:1 speak RoCE v2 over IPv4, a2:1 speaks InfiniBand"
std::string Named(const std::vector<RailAddress>& rails, const ByKind& by_kind,
                  const std::string& where) {
  std::string text;
  for (const auto& [kind, indexes] : by_kind) {
    text += (text.empty() ? "" : ", ") + List(rails, indexes) +
            (indexes.size() == 1 ? " speaks " : " speak ") + kind;
  }
  return where + " " + (text.empty() ? "there is none" : text);
}

}  // namespace

std::string KindOf(const RailAddress& rail) {
  if (rail.layer == LinkLayer::kInfiniBand) return "InfiniBand";
  return std::string(rail.gid_type == GidType::kRoceV2 ? "RoCE v2" : "RoCE v1") + " over " +
         (IsIpv4(rail.gid) ? "IPv4" : "IPv6");
}

std::string EndName(const std::string& host, const RailAddress& rail) {
  return host + " (" + rail.device + ":" + std::to_string(rail.port) + " " + ToString(rail.gid) + ")";
}

StatusOr<std::vector<RailPair>> PairRails(const std::vector<RailAddress>& local,
                                          const std::vector<RailAddress>& remote) {
  const ByKind here = Sorted(local);
  const ByKind there = Sorted(remote);
  std::vector<RailPair> pairs;
  for (const auto& [kind, ours] : here) {
    const auto at = there.find(kind);
    if (at == there.end()) continue;
    const std::vector<int>& theirs = at->second;
    for (size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
      pairs.push_back({ours[i % ours.size()], theirs[i % theirs.size()]});
    }
  }
  if (!pairs.empty()) return pairs;
  return FailedPrecondition("no two RDMA ports can talk: " + Named(local, here, "here") +
                            "; " + Named(remote, there, "at the other end") + " (" + kRdmaKindRemedy + ")");
}

uint32_t ChooseWays(std::span<const RailPair> ways, const Rails& source, const Rails& target) {
  uint32_t by_ends_near[3] = {};
  for (size_t i = 0; i < ways.size(); ++i) {
    const uint32_t here = 1u << ways[i].local;
    const uint32_t there = 1u << ways[i].remote;
    if ((source.registered & here) == 0 || (target.registered & there) == 0) continue;
    const int ends_near = ((source.near & here) != 0 ? 1 : 0) + ((target.near & there) != 0 ? 1 : 0);
    by_ends_near[ends_near] |= 1u << i;
  }
  for (const int ends_near : {2, 1}) {
    if (by_ends_near[ends_near] != 0) return by_ends_near[ends_near];
  }
  return by_ends_near[0];
}

bool NearAtBothEnds(std::span<const RailPair> ways, const Rails& source, const Rails& target) {
  return std::any_of(ways.begin(), ways.end(), [&](const RailPair& way) {
    return (source.near >> way.local & 1) != 0 && (target.near >> way.remote & 1) != 0;
  });
}

bool NeedsGlobalRoute(const RailAddress& local, const RailAddress& remote) {
  constexpr ptrdiff_t kPrefixBytes = 8;
  if (local.layer == LinkLayer::kEthernet) return true;
  return !std::equal(local.gid.bytes.begin(), local.gid.bytes.begin() + kPrefixBytes,
                     remote.gid.bytes.begin());
}

Duration RetryPlan::total() const {
  const auto once = std::chrono::nanoseconds(4096ll << timeout_exponent);
  return once * (retries + 1);
}

RetryPlan PlanRetries(Duration budget) {
  RetryPlan plan;
  plan.timeout_exponent = kMinExponent;
  for (uint8_t exponent = kMinExponent; exponent <= kMaxExponent; ++exponent) {
    RetryPlan longer;
    longer.timeout_exponent = exponent;
    if (longer.total() > budget + budget / 10) break;
    plan = longer;
  }
  return plan;
}

}  // namespace reigen::transport::rdma
