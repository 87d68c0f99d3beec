// Every way a job can end, as lists of events.
#include "client/cli/reigenrun/job_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace reigen::run {
namespace {

using Kind = Action::Kind;

class JobWatchTest : public testing::Test {
 protected:
  static int Count(const Actions& actions, Kind kind, int host = -1) {
    return static_cast<int>(std::count_if(actions.begin(), actions.end(), [&](const Action& a) {
      return a.kind == kind && (host < 0 || a.host == host);
    }));
  }
  void BothReady() {
    watch_.OnHostReady(0);
    watch_.OnHostReady(1);
  }
  launch::Verdict Verdict(int code, const std::string& reason) {
    launch::Verdict verdict;
    verdict.set_code(code);
    verdict.set_reason(reason);
    verdict.set_rank(2);
    return verdict;
  }
  Actions EndHost(int host) {
    watch_.OnHostDone(host, {}, now_);
    return watch_.OnHostClosed(host, "exit 0", "", now_);
  }

  Time now_{};
  JobWatch watch_{{"a", "b"}, {}, Time{}};
};

TEST_F(JobWatchTest, ANormalEndClosesTheCoordinatorLast) {
  BothReady();
  EXPECT_TRUE(watch_.OnVerdict(Verdict(0, ""), now_).empty());
  EXPECT_EQ(Count(EndHost(0), Kind::kCloseCoordinator), 0);
  EXPECT_EQ(Count(EndHost(1), Kind::kCloseCoordinator), 1);
  EXPECT_FALSE(watch_.finished());
  watch_.OnCoordinatorClosed("exit 0", "", now_);
  EXPECT_TRUE(watch_.finished());
  EXPECT_EQ(watch_.verdict().code(), 0);
  EXPECT_TRUE(watch_.left_behind().empty());
}

TEST_F(JobWatchTest, AFailedRanksCodeComesFromTheCoordinatorAndLaterLossesChangeNothing) {
  BothReady();
  watch_.OnVerdict(Verdict(7, "rank 2 ended"), now_);
  launch::GuardDone lost;
  lost.set_worker_lost(true);
  EXPECT_TRUE(watch_.OnHostDone(1, lost, now_).empty());
  EXPECT_EQ(watch_.verdict().code(), 7);
  EXPECT_EQ(watch_.verdict().rank(), 2);
}

// The coordinator may see the stream end before the guard's word is here.
TEST_F(JobWatchTest, WhyAWorkerEndedIsInTheVerdictWhicheverCameFirst) {
  const std::string cause = "the worker ended: signal 9 (Killed)";
  launch::Verdict short_of_it = Verdict(71, "host 1 (b): worker lost: the stream ended");
  short_of_it.set_rank(-1);
  short_of_it.set_host(1);
  const std::string whole = "host 1 (b): worker lost: the stream ended; " + cause;
  launch::GuardDone done;
  done.set_worker_lost(true);
  done.set_reason(cause);

  BothReady();
  watch_.OnVerdict(short_of_it, now_);
  EXPECT_TRUE(watch_.OnHostLost(1, cause, "", now_).empty());
  EXPECT_EQ(watch_.verdict().reason(), whole);
  watch_.OnHostLost(0, "the worker ended: signal 7", "", now_);  // another host's
  watch_.OnHostDone(1, done, now_);                              // said once
  EXPECT_EQ(watch_.verdict().reason(), whole);
  EXPECT_EQ(watch_.verdict().code(), 71);

  watch_ = JobWatch({"a", "b"}, {}, now_);
  BothReady();
  watch_.OnHostLost(1, cause, "boom", now_);
  watch_.OnVerdict(short_of_it, now_);
  EXPECT_EQ(watch_.verdict().reason(), whole + "; its last words:\nboom");

  watch_ = JobWatch({"a", "b"}, {}, now_);
  BothReady();
  watch_.OnVerdict(short_of_it, now_);
  EXPECT_TRUE(watch_.OnHostDone(1, done, now_).empty());
  EXPECT_EQ(watch_.verdict().reason(), whole);

  // Those that say it, or are about something else, stay as they are.
  watch_ = JobWatch({"a", "b"}, {}, now_);
  BothReady();
  watch_.OnHostLost(1, cause, "", now_);
  short_of_it.set_reason("host 1 (b) was lost: " + cause);
  watch_.OnVerdict(short_of_it, now_);
  EXPECT_EQ(watch_.verdict().reason(), short_of_it.reason());
  watch_ = JobWatch({"a", "b"}, {}, now_);
  BothReady();
  launch::Verdict failed = Verdict(7, "rank 2 ended");
  failed.set_host(1);
  watch_.OnVerdict(failed, now_);
  watch_.OnHostLost(1, cause, "", now_);
  EXPECT_EQ(watch_.verdict().reason(), "rank 2 ended");
}

TEST_F(JobWatchTest, WhatAGuardSaysOfItsWorkerAfterItWasItselfLostIsNoCause) {
  BothReady();
  watch_.OnHostAlive(1, now_);
  Actions told;
  for (; told.empty(); now_ += seconds(1)) told = watch_.OnTime(now_);
  ASSERT_EQ(told[0].kind, Kind::kTellHostLost);
  launch::Verdict verdict = Verdict(71, "host 1 (b) was lost: " + told[0].text);
  verdict.set_host(1);
  watch_.OnVerdict(verdict, now_);
  watch_.OnHostLost(1, "the worker has stopped: no heartbeat for 3 s", "", now_);
  EXPECT_EQ(watch_.verdict().reason(), verdict.reason());
}

TEST_F(JobWatchTest, OfSeveralCausesThatTheCoordinatorDidNotAnswerTheFirstCounts) {
  BothReady();
  watch_.OnHostLost(0, "the worker has stopped", "", now_);
  watch_.OnHostLost(1, "the worker ended", "", now_);
  watch_.OnSignal(2, now_);
  watch_.OnCoordinatorClosed("signal 9", "", now_);
  EXPECT_EQ(watch_.verdict().code(), 71);
  EXPECT_NE(watch_.verdict().reason().find("host a"), std::string::npos);
}

TEST_F(JobWatchTest, AHostThatIsNotUpIsStoppedAtOnceByAFailure) {
  watch_.OnHostReady(0);
  const Actions actions = watch_.OnVerdict(Verdict(127, "rank 0 did not start"), now_);
  EXPECT_EQ(Count(actions, Kind::kStopHost), 1);
  EXPECT_EQ(Count(actions, Kind::kStopHost, 1), 1);
}

TEST_F(JobWatchTest, HostsThatDoNotEndAreStoppedThenKilled) {
  BothReady();
  watch_.OnVerdict(Verdict(7, ""), now_);
  EndHost(0);
  now_ = watch_.deadline();
  EXPECT_EQ(now_, Time{} + seconds(4));
  Actions actions = watch_.OnTime(now_);
  EXPECT_EQ(Count(actions, Kind::kStopHost), 1);
  EXPECT_EQ(Count(actions, Kind::kStopHost, 1), 1);
  now_ = watch_.deadline();
  EXPECT_EQ(now_, Time{} + seconds(9));
  actions = watch_.OnTime(now_);
  EXPECT_EQ(Count(actions, Kind::kKillHost, 1), 1);
  EXPECT_EQ(Count(actions, Kind::kKillCoordinator), 1);
  ASSERT_EQ(watch_.left_behind().size(), 1u);
  EXPECT_NE(watch_.left_behind()[0].find("host b"), std::string::npos);
  EXPECT_EQ(watch_.deadline(), Time::max());
  watch_.OnHostClosed(1, "signal 9", "", now_);
  watch_.OnCoordinatorClosed("signal 9", "", now_);
  EXPECT_TRUE(watch_.finished());
  EXPECT_EQ(watch_.verdict().code(), 7);
}

TEST_F(JobWatchTest, ALostHostIsToldAndTheCoordinatorDecides) {
  BothReady();
  const Actions actions = watch_.OnHostClosed(1, "exit 255", "ssh: no route", now_);
  ASSERT_EQ(Count(actions, Kind::kTellHostLost, 1), 1);
  EXPECT_EQ(actions[0].code, 71);
  for (const char* part : {"exit 255", "ssh: no route"}) {
    EXPECT_NE(actions[0].text.find(part), std::string::npos) << actions[0].text;
  }
  EXPECT_FALSE(watch_.ending());
  watch_.OnVerdict(Verdict(71, "host b was lost"), now_ + seconds(1));
  EXPECT_TRUE(watch_.ending());
}

TEST_F(JobWatchTest, LastWordsThatSayTheCauseAreNotAdded) {
  BothReady();
  Actions actions = watch_.OnHostLost(0, "no free port", "error: host a: no free port", now_);
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(actions[0].text, "no free port");
  actions = watch_.OnHostLost(1, "the worker ended: signal 9", "error: strange", now_);
  EXPECT_EQ(actions[0].text, "the worker ended: signal 9; its last words:\nerror: strange");
}

TEST_F(JobWatchTest, WithoutAnswerTheLauncherDecides) {
  BothReady();
  const std::string reason = "the worker ended: signal 9";
  EXPECT_EQ(Count(watch_.OnHostLost(1, reason, "", now_), Kind::kTellHostLost, 1), 1);
  launch::GuardDone lost;
  lost.set_worker_lost(true);
  lost.set_reason(reason);
  EXPECT_TRUE(watch_.OnHostDone(1, lost, now_).empty());  // told already
  EXPECT_EQ(watch_.deadline(), now_ + seconds(2));
  const Actions actions = watch_.OnTime(now_ + seconds(2));
  EXPECT_EQ(Count(actions, Kind::kStopHost, 0), 1);
  EXPECT_EQ(Count(actions, Kind::kStopHost, 1), 0);
  EXPECT_EQ(watch_.verdict().code(), 71);
  EXPECT_EQ(watch_.verdict().host(), 1);
  EXPECT_NE(watch_.verdict().reason().find("signal 9"), std::string::npos);
}

TEST_F(JobWatchTest, HostsThatDoNotComeUpAreNamed) {
  watch_.OnHostReady(0);
  watch_.OnCoordinatorAlive(Time{} + seconds(29));
  EXPECT_EQ(watch_.deadline(), Time{} + seconds(30));
  const Actions actions = watch_.OnTime(Time{} + seconds(30));
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(actions[0].host, 1);
  EXPECT_NE(actions[0].text.find("--start-timeout"), std::string::npos);
}

TEST_F(JobWatchTest, ALostCoordinatorStopsAllAtOnce) {
  BothReady();
  const Actions actions = watch_.OnCoordinatorClosed("signal 9", "boom", now_);
  EXPECT_EQ(Count(actions, Kind::kStopHost), 2);
  EXPECT_EQ(watch_.verdict().code(), 72);
  EXPECT_NE(watch_.verdict().reason().find("boom"), std::string::npos);
  EndHost(0);
  EXPECT_EQ(Count(EndHost(1), Kind::kCloseCoordinator), 0);
  EXPECT_TRUE(watch_.finished());
}

TEST_F(JobWatchTest, ASilentCoordinatorIsLost) {
  BothReady();
  watch_.OnCoordinatorAlive(now_);
  EXPECT_EQ(watch_.deadline(), now_ + seconds(8));
  now_ += seconds(7);
  watch_.OnCoordinatorAlive(now_);
  EXPECT_TRUE(watch_.OnTime(now_ + seconds(7)).empty());
  const Actions actions = watch_.OnTime(now_ + seconds(8));
  EXPECT_EQ(Count(actions, Kind::kKillCoordinator), 1);
  EXPECT_EQ(Count(actions, Kind::kStopHost), 2);
  EXPECT_EQ(watch_.verdict().code(), 72);
}

TEST_F(JobWatchTest, AHostWhoseGuardIsSilentIsLostAndTheGuardWoken) {
  BothReady();
  for (int second = 0; second < 10; ++second, now_ += seconds(1)) {
    watch_.OnHostAlive(0, now_);
    if (second == 0) watch_.OnHostAlive(1, now_);
    EXPECT_TRUE(watch_.OnTime(now_).empty()) << second;
  }
  EXPECT_EQ(watch_.deadline(), now_);
  const Actions actions = watch_.OnTime(now_);
  ASSERT_EQ(Count(actions, Kind::kTellHostLost), 1);
  EXPECT_EQ(Count(actions, Kind::kTellHostLost, 1), 1);
  EXPECT_NE(actions[0].text.find("its guard, or the connection to it, has stopped: no sign of life for 10 s"),
            std::string::npos);
  EXPECT_EQ(Count(actions, Kind::kWakeHost, 1), 1);
  EXPECT_TRUE(watch_.OnTime(now_ + milliseconds(100)).empty()) << "told once";
}

TEST_F(JobWatchTest, ALauncherThatWasItselfStoppedTakesNobodysSilenceForAnEnd) {
  BothReady();
  watch_.OnHostAlive(0, now_);
  EXPECT_TRUE(watch_.OnTime(now_).empty());
  now_ += seconds(7);
  EXPECT_TRUE(watch_.OnTime(now_).empty());
  now_ += seconds(1);
  EXPECT_TRUE(watch_.OnTime(now_).empty());
}

TEST_F(JobWatchTest, TheFirstSignalAsksTheSecondHurries) {
  BothReady();
  Actions actions = watch_.OnSignal(2, now_);
  ASSERT_EQ(Count(actions, Kind::kTellInterrupt), 1);
  EXPECT_EQ(actions[0].code, 2);
  actions = watch_.OnSignal(2, now_);
  EXPECT_EQ(Count(actions, Kind::kStopHost), 2);
  EXPECT_TRUE(actions[0].hurry);
  actions = watch_.OnTime(now_ + seconds(2));
  EXPECT_EQ(watch_.verdict().code(), 130);
}

}  // namespace
}  // namespace reigen::run
