// A job's life as a list of calls: what two workers send, what the core says.
#include "coordinator/core/core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/core/test_specs.h"

namespace reigen::coordinator {
namespace {

using control::CoordinatorMessage;
using control::WorkerMessage;
using testing::ElementsAre;
using testing::HasSubstr;

// Two hosts, ranks 0,1 on a and 2,3 on b; time goes by hand.
class CoordinatorCoreTest : public testing::Test {
 protected:
  explicit CoordinatorCoreTest(JobConfig config = DefaultConfig())
      : core_(std::move(config), now_) {}

  static JobConfig DefaultConfig() {
    JobConfig config;
    config.job = "test";
    config.hosts = {{"a", {0, 1}}, {"b", {2, 3}}};
    config.stall_warning = seconds(2);
    config.stall_shutdown = seconds(6);
    return config;
  }

  void Do(std::vector<Event> events) {
    for (Action& action : core_.Step(std::move(events), now_)) {
      if (auto* send = std::get_if<SendToHosts>(&action)) Receive(*send);
      if (auto* tell = std::get_if<TellLauncher>(&action)) told_.push_back(tell->message);
      if (auto* drop = std::get_if<DropHost>(&action)) dropped_.push_back(drop->reason);
    }
  }
  void Do(Event event) {
    std::vector<Event> events;
    events.push_back(std::move(event));
    Do(std::move(events));
  }
  void Receive(const SendToHosts& send) {
    messages_.push_back(*send.message);
    for (const control::Entry& entry : send.message->entries().entry()) {
      if (entry.has_epoch_begin()) {
        entries_.clear();
        EXPECT_EQ(send.message->entries().first_entry(), 1u);
      }
      entries_.push_back(entry);
    }
    if (send.message->has_end()) end_ = send.message->end();
  }

  static HostMessage From(int host, WorkerMessage message) { return {host, std::move(message)}; }
  static WorkerMessage AttachedMessage() {
    WorkerMessage message;
    message.mutable_attached()->set_pid(1);
    message.mutable_attached()->add_link_addresses("tcp:127.0.0.1:1");
    return message;
  }
  static WorkerMessage InitMessage(std::vector<int> ranks) {
    WorkerMessage message;
    message.mutable_init();
    for (int rank : ranks) message.mutable_init()->add_ranks(rank);
    return message;
  }
  WorkerMessage LeaveMessage(std::vector<int> ranks) const {
    WorkerMessage message;
    message.mutable_leave()->set_epoch(epoch());
    for (int rank : ranks) message.mutable_leave()->add_ranks(rank);
    return message;
  }
  WorkerMessage ReadyMessage(const std::string& name, const control::RequestSpec& spec,
                             std::vector<int> ranks) const {
    return ReadyMessage(name, spec, std::move(ranks), entries_.size());
  }
  WorkerMessage ReadyMessage(const std::string& name, const control::RequestSpec& spec,
                             std::vector<int> ranks, uint64_t entries_seen) const {
    WorkerMessage message;
    message.mutable_ready()->set_epoch(epoch());
    message.mutable_ready()->set_entries_seen(entries_seen);
    control::Ready& ready = *message.mutable_ready()->add_ready();
    ready.set_name(name);
    control::Variant& variant = *ready.add_variants();
    *variant.mutable_spec() = spec;
    for (int rank : ranks) variant.add_ranks(rank);
    return message;
  }
  WorkerMessage HeartbeatMessage(const std::string& waiting = "", std::vector<int> missing = {},
                                 double wait_seconds = 0) const {
    WorkerMessage message;
    message.mutable_heartbeat()->set_epoch(epoch());
    message.mutable_heartbeat()->set_entries_seen(entries_.size());
    if (waiting.empty()) return message;
    control::Waiting& w = *message.mutable_heartbeat()->add_waiting();
    w.set_name(waiting);
    w.set_seconds(wait_seconds);
    for (int rank : missing) w.add_missing_ranks(rank);
    return message;
  }
  static WorkerMessage EndedMessage(int rank, int code, bool attached) {
    WorkerMessage message;
    message.mutable_rank_ended()->set_rank(rank);
    message.mutable_rank_ended()->set_code(code);
    message.mutable_rank_ended()->set_attached(attached);
    return message;
  }
  static WorkerMessage FinishedMessage() {
    WorkerMessage message;
    message.mutable_finished();
    return message;
  }

  void Attach() {
    Do(From(0, AttachedMessage()));
    Do(From(1, AttachedMessage()));
  }
  void Begin() {
    Attach();
    Do(From(0, InitMessage({0, 1})));
    Do(From(1, InitMessage({2, 3})));
  }
  // Time in steps of 200 ms, with heartbeats of both hosts.
  void Pass(Duration duration) {
    for (Duration passed{}; passed < duration; passed += milliseconds(200)) {
      now_ += milliseconds(200);
      std::vector<Event> events;
      events.push_back(From(0, HeartbeatMessage()));
      events.push_back(From(1, HeartbeatMessage()));
      Do(std::move(events));
    }
  }

  Epoch epoch() const { return entries_.empty() ? 0 : entries_.front().epoch_begin().epoch(); }
  std::vector<control::Plan> Plans() const {
    std::vector<control::Plan> plans;
    for (const control::Entry& entry : entries_) {
      if (entry.has_plan()) plans.push_back(entry.plan());
    }
    return plans;
  }
  std::vector<control::Fail> Fails() const {
    std::vector<control::Fail> fails;
    for (const control::Entry& entry : entries_) {
      if (entry.has_fail()) fails.push_back(entry.fail());
    }
    return fails;
  }
  std::vector<std::string> Notices() const {
    std::vector<std::string> notices;
    for (const auto& message : told_) {
      if (message.has_notice()) notices.push_back(message.notice().text());
    }
    return notices;
  }
  launch::Verdict TheVerdict() const {
    launch::Verdict verdict;
    int count = 0;
    for (const auto& message : told_) {
      if (message.has_verdict()) verdict = message.verdict(), ++count;
    }
    EXPECT_EQ(count, 1);
    return verdict;
  }

  Time now_ = Time{} + seconds(1000);
  CoordinatorCore core_;
  std::vector<CoordinatorMessage> messages_;
  std::vector<control::Entry> entries_;  // of the epoch
  std::vector<launch::FromCoordinator> told_;
  std::vector<std::string> dropped_;
  std::optional<control::End> end_;
};

TEST_F(CoordinatorCoreTest, AJobThatGoesWell) {
  Begin();
  ASSERT_EQ(entries_.size(), 1u);
  const control::EpochBegin& begin = entries_[0].epoch_begin();
  EXPECT_EQ(begin.epoch(), MakeEpoch(1, 1));
  ASSERT_EQ(begin.hosts_size(), 2);
  EXPECT_EQ(begin.hosts(1).name(), "b");
  EXPECT_THAT(begin.hosts(1).ranks(), ElementsAre(2, 3));
  EXPECT_THAT(begin.hosts(1).link_addresses(), ElementsAre("tcp:127.0.0.1:1"));

  Do(From(0, ReadyMessage("x", Allreduce("x", {4}), {0, 1})));
  EXPECT_TRUE(Plans().empty());
  Do(From(1, ReadyMessage("x", Allreduce("x", {4}), {2, 3})));
  ASSERT_EQ(Plans().size(), 1u);
  EXPECT_EQ(Plans()[0].sequence(), 1u);
  EXPECT_EQ(Plans()[0].tensors(0).name_id(), 1u);
  ASSERT_TRUE(entries_[1].has_name_def());
  EXPECT_EQ(entries_[1].name_def().name(), "x");

  Do(From(0, LeaveMessage({0, 1})));
  Do(From(1, LeaveMessage({2, 3})));
  for (int rank : {0, 1, 2, 3}) Do(From(rank / 2, EndedMessage(rank, 0, false)));
  EXPECT_FALSE(core_.ended());
  Do(From(0, FinishedMessage()));
  EXPECT_FALSE(end_.has_value());
  Do(From(1, FinishedMessage()));
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->code(), 0);
  EXPECT_TRUE(core_.ended());
  EXPECT_EQ(TheVerdict().code(), 0);
  EXPECT_TRUE(dropped_.empty());
}

TEST_F(CoordinatorCoreTest, TheLauncherHearsOfAnEpochBeforeTheWorkers) {
  Attach();
  Do(From(0, InitMessage({0, 1})));
  const std::vector<Action> actions = core_.Step(From(1, InitMessage({2, 3})), now_);
  size_t told = 0, sent = 0;
  for (size_t i = 0; i < actions.size(); ++i) {
    const auto* tell = std::get_if<TellLauncher>(&actions[i]);
    if (tell != nullptr && tell->message.has_epoch()) told = i + 1;
    if (std::get_if<SendToHosts>(&actions[i]) != nullptr) sent = i + 1;
  }
  EXPECT_GT(told, 0u);
  EXPECT_GT(sent, told);
}

// --transport rdma: there is no TCP to fall back to.
TEST_F(CoordinatorCoreTest, AJobOfHostsThatCannotTalkOverRdmaIsRefused) {
  for (const int host : {0, 1}) {
    WorkerMessage attached = AttachedMessage();
    attached.mutable_attached()->clear_link_addresses();
    attached.mutable_attached()->add_link_addresses(
        host == 0 ? "rdma-kind:InfiniBand with PKey 0x8001" : "rdma-kind:InfiniBand with PKey 0xffff");
    EXPECT_FALSE(end_.has_value());
    Do(From(host, attached));
  }
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(TheVerdict().code(), kHostLost);
  EXPECT_THAT(TheVerdict().reason(), HasSubstr("(a) and ranks 2,3 (b) cannot talk over it: a speaks "
                                               "InfiniBand with PKey 0x8001, b InfiniBand with PKey "
                                               "0xffff"));
}

TEST_F(CoordinatorCoreTest, WhatArrivesTogetherIsFused) {
  Begin();
  std::vector<Event> events;
  for (const std::string name : {"x", "y", "z"}) {
    events.push_back(From(0, ReadyMessage(name, Allreduce(name, {4}), {0, 1})));
    events.push_back(From(1, ReadyMessage(name, Allreduce(name, {4}), {2, 3})));
  }
  Do(std::move(events));
  ASSERT_EQ(Plans().size(), 1u);
  EXPECT_EQ(Plans()[0].tensors_size(), 3);
}

TEST_F(CoordinatorCoreTest, AKnownSpecNeedNotBeSentAgain) {
  Begin();
  Do(From(0, ReadyMessage("x", Allreduce("x", {4}), {0, 1})));
  Do(From(1, ReadyMessage("x", Allreduce("x", {4}), {2, 3})));
  WorkerMessage again;
  again.mutable_ready()->set_epoch(epoch());
  again.mutable_ready()->set_entries_seen(entries_.size());
  again.mutable_ready()->add_ready()->set_name_id(1);
  again.mutable_ready()->mutable_ready(0)->set_same_spec(true);
  Do(From(0, again));
  Do(From(1, again));
  ASSERT_EQ(Plans().size(), 2u);
  EXPECT_EQ(Plans()[1].sequence(), 2u);
  EXPECT_EQ(Plans()[1].tensors(0).spec().name(), "x");
  EXPECT_EQ(Plans()[1].tensors(0).spec().count(), 4u);
}

TEST_F(CoordinatorCoreTest, AMismatchFailsAtOnceAndTheNextOneRuns) {
  Begin();
  Do(From(0, ReadyMessage("x", Allreduce("x", {4}), {0, 1})));
  Do(From(1, ReadyMessage("x", Allreduce("x", {5}), {2, 3})));
  ASSERT_EQ(Fails().size(), 1u);
  EXPECT_EQ(Fails()[0].reason(), "x: ranks disagree on shape: [4] on ranks 0,1; [5] on ranks 2,3");
  Do(From(0, ReadyMessage("x", Allreduce("x", {4}), {0, 1})));
  Do(From(1, ReadyMessage("x", Allreduce("x", {4}), {2, 3})));
  EXPECT_EQ(Plans().size(), 1u);
}

TEST_F(CoordinatorCoreTest, AReadySentBeforeItsFailWasSeenIsVoid) {
  Begin();
  // Host 0's own ranks disagree: the verdict does not wait for host 1.
  WorkerMessage both = ReadyMessage("x", Allreduce("x", {4}), {0});
  control::Variant& other = *both.mutable_ready()->mutable_ready(0)->add_variants();
  *other.mutable_spec() = Allreduce("x", {5});
  other.add_ranks(1);
  Do(From(0, both));
  ASSERT_EQ(Fails().size(), 1u);
  // This one crossed the Fail on its way: its requests are used up by it.
  Do(From(1, ReadyMessage("x", Allreduce("x", {4}), {2, 3}, /*entries_seen=*/1)));
  EXPECT_EQ(core_.Status(now_).awaited_size(), 0);
  // The next ones meet.
  Do(From(0, ReadyMessage("x", Allreduce("x", {4}), {0, 1})));
  Do(From(1, ReadyMessage("x", Allreduce("x", {4}), {2, 3})));
  EXPECT_EQ(Plans().size(), 1u);
  EXPECT_EQ(Fails().size(), 1u);
}

TEST_F(CoordinatorCoreTest, WhatNeedsARankThatLeftFails) {
  Begin();
  Do(From(1, ReadyMessage("x", Allreduce("x", {4}), {2, 3})));
  Do(From(0, LeaveMessage({1})));
  ASSERT_EQ(Fails().size(), 1u);
  EXPECT_EQ(Fails()[0].reason(), "x: rank 1 has left");
  ASSERT_TRUE(entries_.back().has_left());
  EXPECT_THAT(entries_.back().left().ranks(), ElementsAre(1));
  Do(From(1, ReadyMessage("y", Allreduce("y", {4}), {2, 3})));
  ASSERT_EQ(Fails().size(), 2u);
  EXPECT_EQ(Fails()[1].reason(), "y: rank 1 has left");
  EXPECT_EQ(Fails()[1].code(), static_cast<uint32_t>(local::ResultCode::kFailedPrecondition));
}

TEST_F(CoordinatorCoreTest, PlansWithTensorsOfALeavingRankStandBeforeItsLeft) {
  Begin();
  std::vector<Event> events;
  events.push_back(From(0, ReadyMessage("x", Allreduce("x", {4}), {0, 1})));
  events.push_back(From(1, ReadyMessage("x", Allreduce("x", {4}), {2, 3})));
  events.push_back(From(0, LeaveMessage({0})));
  Do(std::move(events));
  EXPECT_EQ(Plans().size(), 1u);
  EXPECT_TRUE(Fails().empty());
  EXPECT_TRUE(entries_.back().has_left());
}

TEST_F(CoordinatorCoreTest, InitAgainBeginsAnEpochWhenAllHaveLeft) {
  Begin();
  const Epoch first = epoch();
  Do(From(0, LeaveMessage({0, 1})));
  Do(From(0, InitMessage({0, 1})));
  EXPECT_EQ(epoch(), first);
  EXPECT_EQ(core_.Status(now_).state(),
            "waiting for ranks 2,3 to call init (ranks 2,3 are still in the epoch before)");
  Pass(seconds(3));
  ASSERT_FALSE(Notices().empty());
  EXPECT_THAT(Notices()[0], HasSubstr("init: have 0,1, missing 2,3 on host 1 (b)"));
  Do(From(1, LeaveMessage({2, 3})));
  Do(From(1, InitMessage({2, 3})));
  EXPECT_GT(epoch(), first);
  EXPECT_EQ(core_.Status(now_).state(), "running");
}

TEST_F(CoordinatorCoreTest, InitFailsWithTheNameOfARankThatEndsInstead) {
  Attach();
  Do(From(0, InitMessage({0, 1})));
  Do(From(1, InitMessage({2})));
  Do(From(1, EndedMessage(3, 0, false)));
  ASSERT_TRUE(messages_.back().has_init_failed());
  EXPECT_THAT(messages_.back().init_failed().reason(), HasSubstr("rank 3 ended"));
  // Who tries again is told again.
  const size_t before = messages_.size();
  Do(From(0, InitMessage({0})));
  EXPECT_EQ(messages_.size(), before + 1);
  EXPECT_TRUE(dropped_.empty());
}

TEST_F(CoordinatorCoreTest, TheFirstFailingRankDecidesAboutTheEnd) {
  Begin();
  WorkerMessage killed = EndedMessage(2, 137, true);
  killed.mutable_rank_ended()->set_signal(9);
  Do(From(1, killed));
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->code(), 137);
  EXPECT_EQ(end_->reason(), "rank 2 on host 1 (b) died of signal 9");
  Do(From(0, EndedMessage(0, 1, true)));
  Do(HostStreamEnded{1, "closed"});
  EXPECT_EQ(TheVerdict().code(), 137);
  EXPECT_EQ(TheVerdict().rank(), 2);
}

TEST_F(CoordinatorCoreTest, WhoLeftAndEndsBadlyIsTheCauseOfFailuresMeanwhile) {
  Begin();
  // Rank 1 calls exit(7), which shuts down first; rank 2 fails with "rank 1 has left".
  Do(From(0, LeaveMessage({1})));
  Do(From(1, EndedMessage(2, 1, true)));
  EXPECT_FALSE(end_.has_value());
  Do(From(1, EndedMessage(3, 1, true)));
  EXPECT_FALSE(end_.has_value());
  Do(From(0, EndedMessage(1, 7, false)));
  EXPECT_EQ(TheVerdict().code(), 7);
  EXPECT_EQ(TheVerdict().rank(), 1);
}

TEST_F(CoordinatorCoreTest, WhoLeftAndEndsWellIsNot) {
  Begin();
  Do(From(0, LeaveMessage({1})));
  Do(From(1, EndedMessage(2, 5, true)));
  Do(From(0, EndedMessage(1, 0, false)));
  EXPECT_EQ(TheVerdict().code(), 5);
  EXPECT_EQ(TheVerdict().rank(), 2);
}

TEST_F(CoordinatorCoreTest, WhoComesBackToAnInitThatFailsIsNotTheCauseOfThat) {
  Begin();
  Do(From(0, LeaveMessage({0, 1})));
  Do(From(1, LeaveMessage({2, 3})));
  Do(From(1, InitMessage({3})));
  Do(From(1, EndedMessage(3, 137, true)));  // the others still have to come
  EXPECT_FALSE(end_.has_value());
  Do(From(0, InitMessage({0})));
  Do(From(0, EndedMessage(0, 1, false)));  // its init failed
  EXPECT_FALSE(end_.has_value());
  Do(From(0, InitMessage({1})));
  Do(From(1, InitMessage({2})));
  EXPECT_EQ(TheVerdict().code(), 137);
  EXPECT_EQ(TheVerdict().rank(), 3);
}

TEST_F(CoordinatorCoreTest, WhoLeftAndStaysDelaysTheVerdictALittle) {
  Begin();
  Do(From(0, LeaveMessage({1})));
  Do(From(1, EndedMessage(2, 5, true)));
  Pass(seconds(1));
  EXPECT_FALSE(end_.has_value());
  Pass(seconds(2));
  EXPECT_EQ(TheVerdict().code(), 5);
}

TEST_F(CoordinatorCoreTest, AnEndWithCodeZeroAfterInitIsADeath) {
  Begin();
  Do(From(0, EndedMessage(1, 0, true)));
  EXPECT_EQ(TheVerdict().code(), 70);
}

TEST_F(CoordinatorCoreTest, ASilentHostIsLostAndNamed) {
  Begin();
  for (int i = 0; i < 20; ++i) {
    now_ += milliseconds(200);
    Do(From(0, HeartbeatMessage()));
  }
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->code(), 71);
  EXPECT_THAT(end_->reason(), HasSubstr("host 1 (b): worker lost: no sign of life for 3.0 s"));
}

TEST_F(CoordinatorCoreTest, ItsOwnPauseIsNobodysSilence) {
  Begin();
  now_ += seconds(30);
  Do(Tick{});
  EXPECT_FALSE(end_.has_value());
  Pass(seconds(4));
  EXPECT_FALSE(end_.has_value());
}

TEST_F(CoordinatorCoreTest, ABrokenStreamIsALostHost) {
  Begin();
  Do(HostStreamEnded{0, "connection reset"});
  EXPECT_EQ(TheVerdict().code(), 71);
  EXPECT_EQ(TheVerdict().host(), 0);
  EXPECT_THAT(TheVerdict().reason(), HasSubstr("host 0 (a)"));
}

TEST_F(CoordinatorCoreTest, ALostLinkWaitsForItsCause) {
  Begin();
  WorkerMessage lost;
  lost.mutable_link_lost()->set_epoch(epoch());
  lost.mutable_link_lost()->set_peer_host(1);
  lost.mutable_link_lost()->set_reason("reset by peer");
  Do(From(0, lost));
  EXPECT_FALSE(end_.has_value());
  Pass(seconds(1));
  EXPECT_FALSE(end_.has_value());
  Pass(seconds(3));
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->reason(), "host 0 (a) lost its link to host 1 (b): reset by peer");
}

TEST_F(CoordinatorCoreTest, AnInterruptEndsWithItsSignal) {
  Begin();
  Do(Interrupted{2});
  EXPECT_EQ(TheVerdict().code(), 130);
}

TEST_F(CoordinatorCoreTest, TheLaunchersEndEndsTheJob) {
  Attach();
  Do(LauncherGone{});
  EXPECT_TRUE(end_.has_value());
}

TEST_F(CoordinatorCoreTest, WhatTheLauncherSaysOfAHostCounts) {
  Do(HostGone{1, "did not start in 30 s", 71});
  EXPECT_EQ(TheVerdict().code(), 71);
  EXPECT_EQ(TheVerdict().reason(), "host 1 (b): did not start in 30 s");
}

// C01: ranks submit different names.
TEST_F(CoordinatorCoreTest, StalledNamesAreReportedTogetherAndEndTheJob) {
  Begin();
  Do(From(0, ReadyMessage("a", Allreduce("a", {4}), {0, 1})));
  now_ += milliseconds(200);
  Do(From(1, ReadyMessage("b", Allreduce("b", {4}), {2, 3})));
  Pass(milliseconds(2000));
  ASSERT_EQ(Notices().size(), 1u);
  EXPECT_THAT(Notices()[0], HasSubstr("a: have 0,1, missing 2,3 on host 1 (b)"));
  EXPECT_THAT(Notices()[0], HasSubstr("b: have 2,3, missing 0,1 on host 0 (a)"));
  Pass(milliseconds(3600));
  EXPECT_EQ(Notices().size(), 2u);
  EXPECT_TRUE(Fails().empty());
  Pass(milliseconds(400));
  ASSERT_EQ(Fails().size(), 2u);
  for (const control::Fail& fail : Fails()) {
    EXPECT_THAT(fail.reason(), HasSubstr("a: have 0,1"));
    EXPECT_THAT(fail.reason(), HasSubstr("b: have 2,3"));
  }
  EXPECT_EQ(TheVerdict().code(), 73);
  EXPECT_FALSE(end_.has_value());  // trainers get a second to raise it
  Pass(milliseconds(1000));
  EXPECT_TRUE(end_.has_value());
}

TEST_F(CoordinatorCoreTest, AStallInsideAHostIsSeenFromItsHeartbeat) {
  Begin();
  for (int i = 0; i < 5; ++i) {
    now_ += milliseconds(200);
    Do(From(0, HeartbeatMessage("a", {1}, 1.2 + 0.2 * i)));
    Do(From(1, HeartbeatMessage()));
  }
  ASSERT_EQ(Notices().size(), 1u);
  EXPECT_THAT(Notices()[0], HasSubstr("a: have 0, missing 1-3 on host 0 (a), host 1 (b)"));
}

TEST_F(CoordinatorCoreTest, ARecoveryIsSaidOnce) {
  Begin();
  Do(From(0, ReadyMessage("a", Allreduce("a", {4}), {0, 1})));
  Pass(seconds(3));
  EXPECT_EQ(Notices().size(), 1u);
  Do(From(1, ReadyMessage("a", Allreduce("a", {4}), {2, 3})));
  Pass(seconds(1));
  ASSERT_EQ(Notices().size(), 2u);
  EXPECT_THAT(Notices()[1], HasSubstr("recovered: a after up to 3.0 s; had waited for ranks 2,3"));
}

TEST_F(CoordinatorCoreTest, StatusNamesWhatIsAwaitedFromWhomAndSinceWhen) {
  Begin();
  Do(From(0, ReadyMessage("a", Allreduce("a", {4}), {0, 1})));
  Pass(seconds(1));
  const control::JobStatus status = core_.Status(now_);
  EXPECT_EQ(status.state(), "running");
  ASSERT_EQ(status.awaited_size(), 1);
  EXPECT_EQ(status.awaited(0).name(), "a");
  EXPECT_THAT(status.awaited(0).have_ranks(), ElementsAre(0, 1));
  EXPECT_THAT(status.awaited(0).missing_ranks(), ElementsAre(2, 3));
  EXPECT_THAT(status.awaited(0).missing_hosts(), ElementsAre("b"));
  EXPECT_NEAR(status.awaited(0).seconds(), 1.0, 0.01);
  EXPECT_EQ(status.ranks(3).state(), "member");
}

// Everything that a worker sends is input.
TEST_F(CoordinatorCoreTest, WhatNoWorkerMaySendEndsItsStreamAndNamesTheHost) {
  WorkerMessage unknown_id;
  unknown_id.mutable_ready()->set_epoch(MakeEpoch(1, 1));
  unknown_id.mutable_ready()->add_ready()->set_name_id(7);
  WorkerMessage foreign = ReadyMessage("x", Allreduce("x", {4}), {2, 3});
  foreign.mutable_ready()->set_epoch(MakeEpoch(1, 1));
  WorkerMessage future = HeartbeatMessage();
  future.mutable_heartbeat()->set_epoch(MakeEpoch(1, 9));
  WorkerMessage unknown_set = ReadyMessage("x", Allreduce("x", {4}), {0, 1});
  unknown_set.mutable_ready()->set_epoch(MakeEpoch(1, 1));
  unknown_set.mutable_ready()->mutable_ready(0)->set_process_set(4);
  WorkerMessage seen = HeartbeatMessage();
  seen.mutable_heartbeat()->set_epoch(MakeEpoch(1, 1));
  seen.mutable_heartbeat()->set_entries_seen(1000);
  WorkerMessage peer;
  peer.mutable_link_lost()->set_peer_host(-3);
  const std::vector<WorkerMessage> bad = {WorkerMessage(),
                                          AttachedMessage(),
                                          InitMessage({-1}),
                                          InitMessage({0}),
                                          InitMessage({2}),
                                          InitMessage({1 << 30}),
                                          LeaveMessage({0}),
                                          EndedMessage(99, 0, false),
                                          FinishedMessage(),
                                          unknown_id,
                                          foreign,
                                          future,
                                          unknown_set,
                                          seen,
                                          peer};
  for (const WorkerMessage& message : bad) {
    CoordinatorCore core(DefaultConfig(), now_);
    core.Step(From(0, AttachedMessage()), now_);
    core.Step(From(1, AttachedMessage()), now_);
    core.Step(From(0, InitMessage({0, 1})), now_);
    core.Step(From(1, InitMessage({2, 3})), now_);
    int dropped = 0;
    for (const Action& action : core.Step(From(0, message), now_)) {
      const auto* drop = std::get_if<DropHost>(&action);
      if (drop == nullptr) continue;
      EXPECT_EQ(drop->host, 0);
      ++dropped;
    }
    EXPECT_EQ(dropped, 1) << message.ShortDebugString();
    EXPECT_TRUE(core.ended());
  }
}

}  // namespace
}  // namespace reigen::coordinator
