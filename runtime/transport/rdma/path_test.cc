// Goal: a path is trusted long enough, and a message takes the right ways.
#include "runtime/transport/rdma/path.h"

#include <gtest/gtest.h>

#include "runtime/base/rdma_kind.h"

namespace reigen::transport::rdma {
namespace {

RailAddress Roce(const std::string& device, const std::string& address) {
  RailAddress rail;
  rail.device = device;
  rail.gid = *GidOfAddress(address);
  return rail;
}

RailAddress InfiniBand(const std::string& device, const std::string& gid,
                       bool global_only = false) {
  RailAddress rail = Roce(device, gid);
  rail.layer = LinkLayer::kInfiniBand;
  rail.global_only = global_only;
  return rail;
}

TEST(PathTest, EthernetIsAlwaysRoutedByAddressInfiniBandWhereAPortDemandsIt) {
  const struct {
    const char* what;
    RailAddress local;
    RailAddress remote;
    bool global;
  } rows[] = {
      {"Ethernet", Roce("a", "10.0.0.1"), Roce("b", "10.0.0.2"), true},
      {"one subnet", InfiniBand("a", "fe80::1"), InfiniBand("b", "fe80::2"), false},
      {"demanded here", InfiniBand("a", "fe80::1", true), InfiniBand("b", "fe80::2"), true},
      {"demanded there", InfiniBand("a", "fe80::1"), InfiniBand("b", "fe80::2", true), true},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(NeedsGlobalRoute(row.local, row.remote), row.global) << row.what;
  }
}

// Its LID would be that of another port here, or of none.
TEST(PathTest, ThePortsOfAnInfiniBandSubnetAreAKindOfTheirOwn) {
  const auto kind = [](const std::string& gid) { return KindOf(InfiniBand("a", gid)); };
  EXPECT_EQ(kind("fe80::1"), "InfiniBand with PKey 0xffff") << "the default subnet";
  EXPECT_EQ(kind("fe80:0:0:7::1"), "InfiniBand of subnet fe80:0:0:7:: with PKey 0xffff");
  EXPECT_TRUE(RdmaKindsTalk(kind("fec0:0:0:1::1"), kind("fec0:0:0:1::2")));
  EXPECT_FALSE(RdmaKindsTalk(kind("fec0:0:0:1::1"), kind("fec0:0:0:2::1")));
  EXPECT_FALSE(RdmaKindsTalk(kind("fec0:0:0:1::1"), kind("fe80::1")));
}

TEST(PathTest, RetriesLastAboutAsLongAsAskedAndNeverForEver) {
  for (const int budget_ms : {100, 500, 1000, 4000, 8000, 12000, 40000}) {
    const Duration budget = milliseconds(budget_ms);
    const RetryPlan plan = PlanRetries(budget);
    EXPECT_EQ(plan.retries, 6) << "7 is without end on some devices";
    EXPECT_LE(plan.total(), budget + budget / 10) << budget_ms;
    EXPECT_GE(plan.total(), budget / 2) << budget_ms;
  }
  EXPECT_EQ(PlanRetries(seconds(4)).timeout_exponent, 17);
  EXPECT_GT(PlanRetries(seconds(4)).total(), seconds(3)) << "2 s of loss must be survived";
  EXPECT_LE(PlanRetries(seconds(100000)).timeout_exponent, 31);
}

TEST(PathTest, WaysAreThoseWithTheMemoryAndIfPossibleNearIt) {
  constexpr Rails kAll = {0b1111, 0b1111};
  const std::vector<RailPair> same = {{0, 0}, {1, 1}, {2, 2}, {3, 3}};
  const std::vector<RailPair> to_one = {{0, 0}, {1, 0}, {2, 0}};
  const struct {
    const char* what;
    const std::vector<RailPair>& ways;
    Rails source;
    Rails target;
    uint32_t chosen;
  } rows[] = {
      {"memory of hosts", same, kAll, kAll, 0b1111},
      {"near to the source", same, {0b1111, 0b0010}, kAll, 0b0010},
      {"near to the target", same, kAll, {0b1111, 0b1100}, 0b1100},
      {"near to both", same, {0b1111, 0b0011}, {0b1111, 0b0110}, 0b0010},
      {"near to one of them only", same, {0b1111, 0b0001}, {0b1111, 0b1000}, 0b1001},
      {"near ones do not have it", same, {0b1100, 0b1100}, {0b1111, 0b0011}, 0b1100},
      {"near to none that has it", same, {0b0011, 0b0001}, {0b0010, 0b0010}, 0b0010},
      {"no way has it at both ends", same, {0b0001, 0b0001}, {0b0010, 0b0010}, 0},
      {"not registered there", same, kAll, {0, 0}, 0},
      {"near bits of what is not registered", same, kAll, {0b0001, 0b1111}, 0b0001},
      {"several to one", to_one, {0b0111, 0b0100}, {0b0001, 0b0001}, 0b100},
      {"several to one, all alike", to_one, {0b0111, 0b0111}, {0b0001, 0b0001}, 0b111},
      {"no near ones said", same, {0b1111, 0}, {0b1111, 0}, 0b1111},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(ChooseWays(row.ways, row.source, row.target), row.chosen) << row.what;
  }
}

TEST(PathTest, WhetherAQueueJoinsTheNearPortsOfBothEnds) {
  const std::vector<RailPair> ways = {{0, 0}, {1, 1}, {0, 2}};
  EXPECT_TRUE(NearAtBothEnds(ways, {0b11, 0b10}, {0b111, 0b010}));
  EXPECT_TRUE(NearAtBothEnds(ways, {0b11, 0b01}, {0b111, 0b100}));
  EXPECT_FALSE(NearAtBothEnds(ways, {0b11, 0b01}, {0b111, 0b010}));
}

}  // namespace
}  // namespace reigen::transport::rdma
