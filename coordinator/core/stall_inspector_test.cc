#include "coordinator/core/stall_inspector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/core/membership.h"
#include "coordinator/limits.h"

namespace reigen::coordinator {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Time kStart = Time{} + seconds(100);

class StallInspectorTest : public testing::Test {
 protected:
  static JobConfig Config() {
    JobConfig config;
    config.hosts = {{"a", {0}}, {"b", {1}}};
    return config;
  }
  static Awaited Wait(const std::string& name, Time since) {
    Awaited awaited;
    awaited.name = name;
    awaited.have = {0};
    awaited.missing = {1};
    awaited.since = since;
    awaited.why = "not enqueued there";
    return awaited;
  }
  StallReport Inspect(const std::vector<Awaited>& awaited, Duration after) {
    return inspector_.Inspect(awaited, membership_, kStart + after);
  }

  Membership membership_{Config(), kStart};
  StallInspector inspector_{seconds(10), seconds(30)};
};

TEST_F(StallInspectorTest, AWarningNamesTensorRanksHostsAndTime) {
  EXPECT_EQ(Inspect({Wait("x", kStart)}, seconds(9)).warning, "");
  EXPECT_EQ(Inspect({Wait("x", kStart)}, seconds(10)).warning,
            "stalled: some ranks wait for what others have not enqueued:\n"
            "  x: have 0, missing 1 on host 1 (b) (not enqueued there), for 10.0 s");
}

TEST_F(StallInspectorTest, WarningsRepeatOncePerInterval) {
  EXPECT_NE(Inspect({Wait("x", kStart)}, seconds(10)).warning, "");
  EXPECT_EQ(Inspect({Wait("x", kStart)}, seconds(19)).warning, "");
  EXPECT_NE(Inspect({Wait("x", kStart)}, seconds(20)).warning, "");
}

TEST_F(StallInspectorTest, WhatStallsTogetherStandsTogether) {
  const auto report = Inspect({Wait("x", kStart), Wait("y", kStart + seconds(4)),
                               Wait("fresh", kStart + seconds(8))},
                              seconds(10));
  EXPECT_THAT(report.warning, HasSubstr("y: have 0"));
  EXPECT_THAT(report.warning, Not(HasSubstr("fresh")));
}

TEST_F(StallInspectorTest, ARecoveryIsSaidOnceAndOnlyAfterAWarning) {
  Inspect({Wait("x", kStart)}, seconds(10));
  EXPECT_EQ(Inspect({}, seconds(12)).recovered,
            "recovered: x after up to 12.0 s; had waited for rank 1");
  EXPECT_EQ(Inspect({}, seconds(13)).recovered, "");
  Inspect({Wait("y", kStart + seconds(12))}, seconds(14));
  EXPECT_EQ(Inspect({}, seconds(15)).recovered, "");
}

TEST_F(StallInspectorTest, TheNextRequestOfTheNameIsAnotherWait) {
  Inspect({Wait("x", kStart)}, seconds(10));
  EXPECT_THAT(Inspect({Wait("x", kStart + seconds(11))}, seconds(12)).recovered, HasSubstr("x"));
}

TEST_F(StallInspectorTest, AFailureIsNoRecovery) {
  Inspect({Wait("x", kStart)}, seconds(10));
  inspector_.Forget("x");
  EXPECT_EQ(Inspect({}, seconds(12)).recovered, "");
}

TEST_F(StallInspectorTest, AWaitThatIsTooLongEndsTheJobWithTheNames) {
  EXPECT_EQ(Inspect({Wait("x", kStart)}, seconds(29)).shutdown, "");
  const auto report = Inspect({Wait("x", kStart), Wait("y", kStart + seconds(1))}, seconds(30));
  EXPECT_THAT(report.shutdown, HasSubstr("x: have 0, missing 1"));
  EXPECT_THAT(report.shutdown, HasSubstr("y: have 0, missing 1"));
}

TEST_F(StallInspectorTest, RanksThatWaitInInitAreNoReasonToEnd) {
  Awaited init = Wait("init", kStart);
  init.is_init = true;
  const auto report = Inspect({init}, seconds(60));
  EXPECT_EQ(report.shutdown, "");
  EXPECT_THAT(report.warning, HasSubstr("init: have 0, missing 1"));
}

TEST_F(StallInspectorTest, ALongListIsCounted) {
  std::vector<Awaited> awaited;
  for (size_t i = 0; i < kMaxStallLines + 7; ++i) {
    awaited.push_back(Wait("x" + std::to_string(i), kStart));
  }
  EXPECT_THAT(Inspect(awaited, seconds(10)).warning, HasSubstr("and 7 more"));
}

}  // namespace
}  // namespace reigen::coordinator
