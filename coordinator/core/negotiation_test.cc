#include "coordinator/core/negotiation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/core/test_specs.h"

namespace reigen::coordinator {
namespace {

using local::ResultCode;
using testing::HasSubstr;

constexpr Time kStart{};

std::vector<SpecGroup> Group(const control::RequestSpec& spec, std::vector<int> ranks) {
  return {{std::make_shared<const control::RequestSpec>(spec), std::move(ranks)}};
}

TEST(NegotiationTest, ARequestIsAgreedWhenTheLastHostHasIt) {
  Negotiation n({{0, 1}, {2}, {3}});
  const auto spec = Allreduce("x", {4});
  ASSERT_TRUE(n.Announce(2, "x", Group(spec, {3}), kStart).ok());
  ASSERT_TRUE(n.Announce(0, "x", Group(spec, {1, 0}), kStart).ok());
  EXPECT_TRUE(n.Take().empty());
  EXPECT_EQ(n.pending().at("x").since, kStart);
  ASSERT_TRUE(n.Announce(1, "x", Group(spec, {2}), kStart + seconds(1)).ok());
  const auto verdicts = n.Take();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].name, "x");
  EXPECT_EQ(verdicts[0].code, ResultCode::kOk);
  EXPECT_TRUE(n.pending().empty());
}

TEST(NegotiationTest, VerdictsComeInTheOrderInWhichRequestsWereComplete) {
  Negotiation n({{0}, {1}});
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(n.Announce(0, name, Group(Allreduce(name, {4}), {0}), kStart).ok());
  }
  for (const char* name : {"c", "a", "b"}) {
    ASSERT_TRUE(n.Announce(1, name, Group(Allreduce(name, {4}), {1}), kStart).ok());
  }
  std::string order;
  for (const auto& verdict : n.Take()) order += verdict.name;
  EXPECT_EQ(order, "cab");
}

TEST(NegotiationTest, TheKthRequestOfANameMeetsTheKthOfTheOthers) {
  Negotiation n({{0}, {1}});
  for (int round = 0; round < 3; ++round) {
    const auto spec = round == 1 ? Broadcast("x", {4}, 1) : Allreduce("x", {4});
    for (int host : {0, 1}) ASSERT_TRUE(n.Announce(host, "x", Group(spec, {host}), kStart).ok());
    const auto verdicts = n.Take();
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_EQ(verdicts[0].spec->kind(), spec.kind());
  }
}

TEST(NegotiationTest, AMismatchDoesNotWaitForTheOthers) {
  Negotiation n({{0}, {1}, {2}});
  ASSERT_TRUE(n.Announce(0, "x", Group(Allreduce("x", {4}), {0}), kStart).ok());
  ASSERT_TRUE(n.Announce(1, "x", Group(Allreduce("x", {5}), {1}), kStart).ok());
  const auto verdicts = n.Take();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].code, ResultCode::kFailedPrecondition);
  EXPECT_THAT(verdicts[0].reason, HasSubstr("[4] on rank 0; [5] on rank 1"));
}

TEST(NegotiationTest, RanksOfOneHostMayDisagree) {
  Negotiation n(std::vector<std::vector<int>>{{0, 1, 2}});
  auto groups = Group(Allreduce("x", {4}), {0});
  groups.push_back(Group(Allreduce("x", {5}), {2})[0]);
  ASSERT_TRUE(n.Announce(0, "x", std::move(groups), kStart).ok());
  const auto verdicts = n.Take();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_THAT(verdicts[0].reason, HasSubstr("[4] on rank 0; [5] on rank 2"));
}

TEST(NegotiationTest, WhatCannotRunFailsBeforeAnythingMoves) {
  Negotiation n(std::vector<std::vector<int>>{{0}});
  const auto spec = Allreduce("x", {4}, DataType::kBool, ReduceOp::kAverage);
  ASSERT_TRUE(n.Announce(0, "x", Group(spec, {0}), kStart).ok());
  const auto verdicts = n.Take();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].code, ResultCode::kInvalidArgument);
}

TEST(NegotiationTest, ALeaveFailsWhatIsPendingAndWhatComes) {
  Negotiation n({{0, 1}, {2}});
  ASSERT_TRUE(n.Announce(1, "b", Group(Allreduce("b", {4}), {2}), kStart).ok());
  ASSERT_TRUE(n.Announce(1, "a", Group(Allreduce("a", {4}), {2}), kStart).ok());
  n.Leave({1});
  ASSERT_TRUE(n.Announce(0, "c", Group(Allreduce("c", {4}), {0}), kStart).ok());
  const auto verdicts = n.Take();
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_EQ(verdicts[0].reason, "a: rank 1 has left");
  EXPECT_EQ(verdicts[1].reason, "b: rank 1 has left");
  EXPECT_EQ(verdicts[2].reason, "c: rank 1 has left");
  EXPECT_TRUE(n.pending().empty());
}

TEST(NegotiationTest, RanksOfOthersMissingRanksAndRepeatsAreRefused) {
  Negotiation n({{0, 1}, {2}});
  const auto spec = Allreduce("x", {4});
  EXPECT_FALSE(n.Announce(0, "x", Group(spec, {0, 2}), kStart).ok());
  EXPECT_FALSE(n.Announce(0, "x", Group(spec, {0, -1}), kStart).ok());
  EXPECT_FALSE(n.Announce(0, "x", Group(spec, {0, 1 << 30}), kStart).ok());
  EXPECT_FALSE(n.Announce(0, "x", Group(spec, {0}), kStart).ok());
  EXPECT_FALSE(n.Announce(0, "x", Group(spec, {0, 1, 1}), kStart).ok());
  EXPECT_FALSE(n.Announce(0, "x", {}, kStart).ok());
  auto twice = Group(spec, {0});
  twice.push_back(Group(spec, {1})[0]);
  EXPECT_FALSE(n.Announce(0, "y", std::move(twice), kStart).ok());
  ASSERT_TRUE(n.Announce(0, "x", Group(spec, {0, 1}), kStart).ok());
  EXPECT_FALSE(n.Announce(0, "x", Group(spec, {0, 1}), kStart).ok());
}

}  // namespace
}  // namespace reigen::coordinator
