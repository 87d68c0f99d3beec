#include "runtime/transport/rdma/path.h"

#include <algorithm>
#include <cstddef>

namespace reigen::transport::rdma {
namespace {

// The field has five bits; 0 is without end.
constexpr uint8_t kMinExponent = 1;
constexpr uint8_t kMaxExponent = 31;

constexpr ptrdiff_t kPrefixBytes = 8;

// "InfiniBand", "InfiniBand of subnet fec0::". The default prefix is not named.
std::string SubnetOf(const Gid& gid) {
  Gid prefix;
  std::copy_n(gid.bytes.begin(), kPrefixBytes, prefix.bytes.begin());
  constexpr Gid kDefault{{0xfe, 0x80}};
  return prefix == kDefault ? "InfiniBand" : "InfiniBand of subnet " + ToString(prefix);
}

}  // namespace

std::string KindOf(const RailAddress& rail) {
  if (rail.layer == LinkLayer::kInfiniBand) return RdmaKind(SubnetOf(rail.gid), rail.pkey);
  const std::string network = std::string(rail.gid_type == GidType::kRoceV2 ? "RoCE v2" : "RoCE v1") +
                              " over " + (IsIpv4(rail.gid) ? "IPv4" : "IPv6");
  // RoCE has no other partitions, as a rule.
  return rail.pkey == kDefaultPkey ? network : RdmaKind(network, rail.pkey);
}

std::string EndName(const std::string& host, const RailAddress& rail) {
  return host + " (" + rail.device + ":" + std::to_string(rail.port) + " " + ToString(rail.gid) + ")";
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
  return local.layer == LinkLayer::kEthernet || local.global_only || remote.global_only;
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
