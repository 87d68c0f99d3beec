#include "worker/guard/tree_end.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <set>
#include <utility>

namespace reigen::worker {
namespace {

// A few processes that react to signals as told.
class TreeEndTest : public testing::Test {
 protected:
  enum class Kind { kPlain, kIgnoresTerm, kUnkillable };

  TreeHooks Hooks() {
    return {[this] {
              std::vector<ProcessInfo> left;
              for (const auto& [pid, kind] : processes_) left.push_back({.pid = pid});
              return left;
            },
            [this](const ProcessInfo& p, int signal) {
              sent_.insert({p.pid, signal});
              const Kind kind = processes_.at(p.pid);
              if (kind == Kind::kPlain && signal == SIGTERM) dying_.insert(p.pid);
              if (kind != Kind::kUnkillable && signal == SIGKILL) dying_.insert(p.pid);
              return true;
            }};
  }
  // What was signalled is gone; the time of the next step.
  void Pass(Duration d) {
    for (pid_t pid : dying_) processes_.erase(pid);
    dying_.clear();
    now_ += d;
  }

  Time now_{};
  std::map<pid_t, Kind> processes_;
  std::set<pid_t> dying_;
  std::set<std::pair<pid_t, int>> sent_;
};

TEST_F(TreeEndTest, TheWorkerIsSparedUntilTheTrainersHaveEnded) {
  processes_ = {{10, Kind::kPlain}, {11, Kind::kPlain}, {12, Kind::kPlain}};
  TreeEnd end(Hooks(), /*last=*/10, seconds(3), now_);
  end.Step(now_);
  EXPECT_FALSE(sent_.count({10, SIGTERM}));
  EXPECT_TRUE(sent_.count({11, SIGTERM}));
  EXPECT_TRUE(sent_.count({11, SIGCONT})) << "it may be stopped";
  Pass(TreeEnd::kStep);
  end.Step(now_);
  EXPECT_TRUE(sent_.count({10, SIGKILL}));
  EXPECT_FALSE(sent_.count({11, SIGKILL}));
  Pass(TreeEnd::kStep);
  end.Step(now_);
  EXPECT_TRUE(end.done());
  EXPECT_TRUE(end.unkillable().empty());
}

TEST_F(TreeEndTest, WhatIgnoresSigtermIsKilledAfterTheGrace) {
  processes_ = {{10, Kind::kPlain}, {11, Kind::kIgnoresTerm}};
  TreeEnd end(Hooks(), 10, seconds(3), now_);
  end.Step(now_);
  Pass(seconds(2));
  end.Step(now_);
  EXPECT_FALSE(sent_.count({11, SIGKILL}));
  Pass(seconds(1));
  end.Step(now_);
  EXPECT_TRUE(sent_.count({11, SIGKILL}));
  processes_[12] = Kind::kIgnoresTerm;  // forked meanwhile
  Pass(TreeEnd::kStep);
  end.Step(now_);
  EXPECT_FALSE(end.done());
  Pass(TreeEnd::kStep);
  end.Step(now_);
  EXPECT_TRUE(end.done());
}

TEST_F(TreeEndTest, HurryKillsAtOnce) {
  processes_ = {{11, Kind::kIgnoresTerm}};
  TreeEnd end(Hooks(), 10, seconds(3), now_);
  end.Step(now_);
  end.Hurry(now_);
  end.Step(now_);
  EXPECT_TRUE(sent_.count({11, SIGKILL}));
}

TEST_F(TreeEndTest, WhatSurvivesSigkillIsNamedAndTheWaitEnds) {
  processes_ = {{11, Kind::kUnkillable}};
  TreeEnd end(Hooks(), 10, seconds(3), now_);
  for (int i = 0; i < 1000 && !end.done(); ++i) {
    end.Step(now_);
    Pass(TreeEnd::kStep);
  }
  EXPECT_TRUE(end.done());
  EXPECT_EQ(end.unkillable(), (std::vector<pid_t>{11}));
  EXPECT_LT(now_ - Time{}, seconds(6));
}

TEST_F(TreeEndTest, AnEmptyTreeIsDoneAtOnce) {
  TreeEnd end(Hooks(), 10, seconds(3), now_);
  end.Step(now_);
  EXPECT_TRUE(end.done());
}

}  // namespace
}  // namespace reigen::worker
