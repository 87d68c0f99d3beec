#include "coordinator/core/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reigen::coordinator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Time kStart{};

JobConfig Config() {
  JobConfig config;
  config.incarnation = 3;
  config.hosts = {{"a", {0, 1}}, {"b", {2}}};
  return config;
}

TEST(MembershipTest, AnEpochBeginsWhenAllAreInInit) {
  Membership m(Config(), kStart);
  EXPECT_EQ(m.epoch(), 0u);
  ASSERT_TRUE(m.Init(0, {0, 1}, kStart).ok());
  EXPECT_FALSE(m.AllInInit());
  ASSERT_TRUE(m.Init(1, {2}, kStart).ok());
  ASSERT_TRUE(m.AllInInit());
  m.BeginEpoch(kStart);
  EXPECT_EQ(m.epoch(), MakeEpoch(3, 1));
  EXPECT_THAT(m.InState(RankState::kMember), ElementsAre(0, 1, 2));
}

TEST(MembershipTest, AFailedInitLeavesRanksAsTheyWere) {
  Membership m(Config(), kStart);
  ASSERT_TRUE(m.Init(0, {0}, kStart).ok());
  m.AbandonInit(kStart);
  EXPECT_EQ(m.ranks()[0].state, RankState::kStarting);
  EXPECT_TRUE(m.Init(0, {0}, kStart).ok());
}

TEST(MembershipTest, InitAndLeaveAreForRanksInTheRightState) {
  Membership m(Config(), kStart);
  EXPECT_FALSE(m.Leave(0, {0}, kStart).ok());
  EXPECT_FALSE(m.Init(0, {2}, kStart).ok());
  EXPECT_FALSE(m.Init(0, {-1}, kStart).ok());
  EXPECT_FALSE(m.Init(0, {3}, kStart).ok());
  ASSERT_TRUE(m.Init(0, {0}, kStart).ok());
  EXPECT_FALSE(m.Init(0, {0}, kStart).ok());
  EXPECT_FALSE(m.Leave(0, {0}, kStart).ok());
  ASSERT_TRUE(m.End(0, 1, 0, kStart).ok());
  EXPECT_FALSE(m.Init(0, {1}, kStart).ok());
  EXPECT_FALSE(m.End(0, 1, 0, kStart).ok());
}

TEST(MembershipTest, AHostIsFinishedWhenItsRanksHaveEnded) {
  Membership m(Config(), kStart);
  ASSERT_TRUE(m.End(0, 0, 0, kStart).ok());
  EXPECT_FALSE(m.Finish(0).ok());
  ASSERT_TRUE(m.End(0, 1, 0, kStart).ok());
  EXPECT_TRUE(m.Finish(0).ok());
  EXPECT_FALSE(m.AllFinished());
  ASSERT_TRUE(m.End(1, 2, 0, kStart).ok());
  ASSERT_TRUE(m.Finish(1).ok());
  EXPECT_TRUE(m.AllFinished());
}

TEST(MembershipTest, SilenceCountsFromTheLastMessageOfAnAttachedHost) {
  Membership m(Config(), kStart);
  EXPECT_THAT(m.Silent(kStart + seconds(10), seconds(3)), IsEmpty());
  ASSERT_TRUE(m.Attach(0, {}, kStart).ok());
  ASSERT_TRUE(m.Attach(1, {}, kStart).ok());
  EXPECT_FALSE(m.Attach(1, {}, kStart).ok());
  m.Heard(0, kStart + seconds(2));
  EXPECT_THAT(m.Silent(kStart + seconds(3), seconds(3)), ElementsAre(1));
  m.Forgive(seconds(1));
  EXPECT_THAT(m.Silent(kStart + seconds(3), seconds(3)), IsEmpty());
  m.Detach(1);
  EXPECT_THAT(m.Silent(kStart + seconds(9), seconds(3)), ElementsAre(0));
  EXPECT_THAT(m.AttachedHosts(), ElementsAre(0));
}

}  // namespace
}  // namespace reigen::coordinator
