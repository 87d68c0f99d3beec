// Goal: a worker announces, plans, fails and completes its trainers' requests in the
// order that the plan stream says, whatever comes in from either side.
// Method: events in, actions out; the test plays the coordinator and the runtime.
#include "worker/core/worker_core.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace reigen::worker {
namespace {

constexpr Time kNow{};

// Two trainers, ranks 2 and 3 of a job of two hosts.
class WorkerCoreTest : public testing::Test {
 protected:
  template <typename E>
  std::vector<Action> Step(E event, Time now = kNow) {
    std::vector<Action> actions = core_.Step(Event(std::move(event)), now);
    for (Action& action : core_.Step(Flush{}, now)) actions.push_back(std::move(action));
    return actions;
  }

  std::vector<Action> Entry(const std::function<void(control::Entry&)>& fill) {
    FromCoordinator event;
    control::Entries& entries = *event.message.mutable_entries();
    entries.set_first_entry(next_entry_++);
    fill(*entries.add_entry());
    return Step(std::move(event));
  }

  std::vector<Action> Begin(uint64_t epoch = 1) {
    for (int local : {0, 1}) Step(InitCalled{local});
    next_entry_ = 1;
    return Entry([&](control::Entry& entry) {
      control::EpochBegin& begin = *entry.mutable_epoch_begin();
      begin.set_epoch(epoch);
      begin.set_max_segment_bytes(1024);
      begin.set_max_channels(2);
      for (int host : {0, 1}) {
        control::HostInfo& info = *begin.add_hosts();
        info.set_host(host);
        info.add_ranks(2 * host);
        info.add_ranks(2 * host + 1);
      }
    });
  }

  static std::shared_ptr<RequestSpec> Spec(const std::string& name, uint64_t count = 4) {
    auto spec = std::make_shared<RequestSpec>();
    TensorSpec& tensor = spec->tensors.emplace_back();
    tensor.name = name;
    tensor.count = count;
    tensor.shape = {count};
    return spec;
  }

  std::vector<Action> Submit(int local, uint64_t id, const std::string& name,
                             std::shared_ptr<RequestSpec> spec) {
    Submitted event;
    event.local = local;
    event.request.id = id;
    event.request.name = name;
    for (size_t i = 0; i < spec->tensors.size(); ++i) {
      event.request.data.push_back(memory_[local] + 64 * i);
    }
    event.request.spec = std::move(spec);
    return Step(std::move(event));
  }
  std::vector<Action> Submit(int local, uint64_t id, const std::string& name,
                             uint64_t count = 4) {
    return Submit(local, id, name, Spec(name, count));
  }

  static void AddTensor(control::Plan& plan, const std::string& request, uint32_t index,
                        const TensorSpec& spec) {
    control::PlanTensor& tensor = *plan.add_tensors();
    tensor.set_name(request);
    tensor.set_tensor(index);
    tensor.mutable_spec()->set_name(spec.name);
    tensor.mutable_spec()->set_dtype(static_cast<uint32_t>(spec.dtype));
    tensor.mutable_spec()->set_count(spec.count);
    tensor.mutable_spec()->mutable_shape()->Add(spec.shape.begin(), spec.shape.end());
  }

  static void FillHead(control::Plan& plan, uint64_t sequence) {
    plan.set_sequence(sequence);
    plan.set_algorithm(static_cast<uint32_t>(Algorithm::kRing));
    plan.set_op(static_cast<uint32_t>(ReduceOp::kSum));
    plan.set_dtype(static_cast<uint32_t>(DataType::kFloat32));
    plan.set_wire_dtype(static_cast<uint32_t>(DataType::kFloat32));
    plan.set_prescale(1);
    plan.set_postscale(1);
    plan.set_divisor(1);
    plan.set_segment_bytes(1024);
    plan.set_channels(2);
    plan.add_hosts(0);
    plan.add_hosts(1);
  }

  std::vector<Action> Plan(uint64_t sequence, const std::string& name, uint64_t count = 4) {
    return Entry([&](control::Entry& entry) {
      FillHead(*entry.mutable_plan(), sequence);
      AddTensor(*entry.mutable_plan(), name, 0, Spec(name, count)->tensors[0]);
    });
  }

  std::vector<Action> Fail(const std::string& name, const std::string& reason) {
    return Entry([&](control::Entry& entry) {
      entry.mutable_fail()->set_name(name);
      entry.mutable_fail()->set_code(static_cast<uint32_t>(local::ResultCode::kFailedPrecondition));
      entry.mutable_fail()->set_reason(reason);
    });
  }

  std::vector<Action> LoseAHost() {
    FromCoordinator event;
    event.message.mutable_end()->set_code(71);
    event.message.mutable_end()->set_reason("host 1 is lost");
    return Step(std::move(event));
  }

  template <typename T>
  static std::vector<T> All(const std::vector<Action>& actions) {
    std::vector<T> out;
    for (const Action& action : actions) {
      if (const T* item = std::get_if<T>(&action)) out.push_back(*item);
    }
    return out;
  }

  static std::vector<control::Ready> Readies(const std::vector<Action>& actions) {
    std::vector<control::Ready> out;
    for (const Send& send : All<Send>(actions)) {
      for (const auto& ready : send.message.ready().ready()) out.push_back(ready);
    }
    return out;
  }

  alignas(64) std::byte memory_[2][4096] = {};
  WorkerCore core_{WorkerCore::Options{.host = 1, .ranks = {2, 3}}};
  uint64_t next_entry_ = 1;
};

TEST_F(WorkerCoreTest, BeginsAnEpochOnceEveryTrainerHasCalledInit) {
  ASSERT_EQ(All<BeginEpoch>(Begin()).size(), 1u);
  WorkerCore other(WorkerCore::Options{.host = 1, .ranks = {2, 3}});
  const auto actions = other.Step(InitCalled{1}, kNow);
  ASSERT_EQ(All<Send>(actions).size(), 1u);
  EXPECT_EQ(All<Send>(actions)[0].message.init().ranks(0), 3);
}

TEST_F(WorkerCoreTest, AnnouncesWhatAllItsTrainersHave) {
  Begin();
  EXPECT_TRUE(Readies(Submit(0, 1, "x")).empty());
  const auto readies = Readies(Submit(1, 1, "x"));
  ASSERT_EQ(readies.size(), 1u);
  EXPECT_EQ(readies[0].name(), "x");
  ASSERT_EQ(readies[0].variants_size(), 1);
  EXPECT_EQ(readies[0].variants(0).ranks_size(), 2);
  EXPECT_EQ(readies[0].variants(0).spec().tensors(0).count(), 4u);
}

TEST_F(WorkerCoreTest, AnnouncesADisagreementAtOnceWithBothVariants) {
  Begin();
  Submit(0, 1, "x", 4);
  const auto readies = Readies(Submit(1, 1, "x", 5));
  ASSERT_EQ(readies.size(), 1u);
  ASSERT_EQ(readies[0].variants_size(), 2);
  EXPECT_EQ(readies[0].variants(0).ranks(0), 2);
  EXPECT_EQ(readies[0].variants(1).ranks(0), 3);
}

TEST_F(WorkerCoreTest, RunsAPlanAndCompletesItsRequests) {
  Begin();
  Submit(0, 7, "x");
  Submit(1, 8, "x");
  const auto starts = All<StartBucket>(Plan(0, "x"));
  ASSERT_EQ(starts.size(), 1u);
  const collective::Bucket& bucket = starts[0].bucket;
  EXPECT_EQ(bucket.self, 1);
  ASSERT_EQ(bucket.tensors.size(), 1u);
  EXPECT_EQ(bucket.tensors[0].inputs,
            (std::vector<const std::byte*>{memory_[0], memory_[1]}));
  EXPECT_EQ(bucket.tensors[0].outputs, (std::vector<std::byte*>{memory_[0], memory_[1]}));
  const auto done = All<Complete>(Step(BucketEnded{bucket.id, OkStatus()}));
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].request, 7u);
  EXPECT_EQ(done[1].request, 8u);
  EXPECT_EQ(done[1].code, local::ResultCode::kOk);
}

TEST_F(WorkerCoreTest, SendsIdsAndNoSpecsOnceTheCoordinatorKnowsThem) {
  Begin();
  Submit(0, 1, "x");
  Submit(1, 1, "x");
  Entry([](control::Entry& entry) {
    entry.mutable_name_def()->set_id(1);
    entry.mutable_name_def()->set_name("x");
  });
  Step(BucketEnded{All<StartBucket>(Plan(0, "x"))[0].bucket.id, OkStatus()});
  Submit(0, 2, "x");
  auto readies = Readies(Submit(1, 2, "x"));
  ASSERT_EQ(readies.size(), 1u);
  EXPECT_EQ(readies[0].name_id(), 1u);
  EXPECT_TRUE(readies[0].same_spec());
  EXPECT_EQ(readies[0].variants_size(), 0);
  Step(BucketEnded{All<StartBucket>(Plan(1, "x"))[0].bucket.id, OkStatus()});
  Submit(0, 3, "x", 5);
  readies = Readies(Submit(1, 3, "x", 5));
  EXPECT_FALSE(readies[0].same_spec());
  EXPECT_EQ(readies[0].variants_size(), 1);
}

TEST_F(WorkerCoreTest, AFailTakesOneRequestFromEveryTrainerAlsoTheNextOne) {
  Begin();
  Submit(0, 1, "x");
  const auto failed = All<Complete>(Fail("x", "ranks disagree"));
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].text, "ranks disagree");
  const auto on_arrival = All<Complete>(Submit(1, 9, "x"));
  ASSERT_EQ(on_arrival.size(), 1u);
  EXPECT_EQ(on_arrival[0].request, 9u);
  EXPECT_EQ(on_arrival[0].code, local::ResultCode::kFailedPrecondition);
  Submit(0, 2, "x");
  EXPECT_EQ(Readies(Submit(1, 10, "x")).size(), 1u);
}

TEST_F(WorkerCoreTest, AReadyThatFailedBeforeItWasSentIsNotSent) {
  Begin();
  for (int local : {0, 1}) {
    Submitted event;
    event.local = local;
    event.request.name = "x";
    event.request.spec = Spec("x");
    event.request.data = {memory_[local]};
    core_.Step(std::move(event), kNow);  // no Flush: the stream is busy
  }
  EXPECT_TRUE(core_.wants_flush());
  const auto actions = Fail("x", "rank 0 has left");
  EXPECT_EQ(All<Complete>(actions).size(), 2u);
  EXPECT_TRUE(Readies(actions).empty());
}

TEST_F(WorkerCoreTest, ANameThatIsPendingIsRefusedToTheSameRank) {
  Begin();
  Submit(0, 1, "x");
  const auto done = All<Complete>(Submit(0, 2, "x"));
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].request, 2u);
  EXPECT_EQ(done[0].code, local::ResultCode::kInvalidArgument);
  Submit(1, 1, "x");
  Plan(0, "x");
  EXPECT_EQ(All<Complete>(Submit(0, 3, "x")).size(), 1u) << "it runs: still pending";
}

TEST_F(WorkerCoreTest, AGroupInTwoBucketsIsDoneWithTheLastOne) {
  Begin();
  auto spec = Spec("a");
  spec->tensors.push_back(Spec("b", 6)->tensors[0]);
  Submit(0, 1, "group", std::make_shared<RequestSpec>(*spec));
  Submit(1, 1, "group", std::make_shared<RequestSpec>(*spec));
  std::vector<CollectiveId> ids;
  for (uint32_t i : {1u, 0u}) {
    const auto actions = Entry([&](control::Entry& entry) {
      FillHead(*entry.mutable_plan(), 1 - i);
      AddTensor(*entry.mutable_plan(), "group", i, spec->tensors[i]);
    });
    ASSERT_EQ(All<StartBucket>(actions).size(), 1u);
    ids.push_back(All<StartBucket>(actions)[0].bucket.id);
  }
  EXPECT_TRUE(All<Complete>(Step(BucketEnded{ids[1], OkStatus()})).empty());
  EXPECT_EQ(All<Complete>(Step(BucketEnded{ids[0], OkStatus()})).size(), 2u);
}

TEST_F(WorkerCoreTest, ABarrierIsDoneWhenItsPlanComes) {
  Begin();
  auto spec = std::make_shared<RequestSpec>();
  spec->kind = CollectiveKind::kBarrier;
  Submit(0, 1, "barrier", spec);
  EXPECT_EQ(Readies(Submit(1, 1, "barrier", spec)).size(), 1u);
  const auto actions = Entry([&](control::Entry& entry) {
    FillHead(*entry.mutable_plan(), 0);
    entry.mutable_plan()->set_kind(static_cast<uint32_t>(CollectiveKind::kBarrier));
    entry.mutable_plan()->set_algorithm(static_cast<uint32_t>(Algorithm::kNone));
    entry.mutable_plan()->add_tensors()->set_name("barrier");
  });
  EXPECT_TRUE(All<StartBucket>(actions).empty());
  EXPECT_EQ(All<Complete>(actions).size(), 2u);
}

TEST_F(WorkerCoreTest, ABroadcastReadsTheRootAndWritesTheOthers) {
  Begin();
  auto spec = Spec("w");
  spec->kind = CollectiveKind::kBroadcast;
  spec->root = 3;
  Submit(0, 1, "w", spec);
  Submit(1, 1, "w", spec);
  const auto actions = Entry([&](control::Entry& entry) {
    FillHead(*entry.mutable_plan(), 0);
    entry.mutable_plan()->set_kind(static_cast<uint32_t>(CollectiveKind::kBroadcast));
    entry.mutable_plan()->set_algorithm(static_cast<uint32_t>(Algorithm::kTreeBroadcast));
    entry.mutable_plan()->set_root(3);
    AddTensor(*entry.mutable_plan(), "w", 0, spec->tensors[0]);
  });
  ASSERT_EQ(All<StartBucket>(actions).size(), 1u);
  const collective::Bucket bucket = All<StartBucket>(actions)[0].bucket;
  EXPECT_EQ(bucket.root, 1);
  EXPECT_EQ(bucket.tensors[0].inputs, (std::vector<const std::byte*>{memory_[1]}));
  EXPECT_EQ(bucket.tensors[0].outputs, (std::vector<std::byte*>{memory_[0]}));
}

TEST_F(WorkerCoreTest, ARootThatIsNoRankIsRefused) {
  Begin();
  auto spec = Spec("w");
  spec->kind = CollectiveKind::kBroadcast;
  spec->root = 4;
  const auto done = All<Complete>(Submit(0, 1, "w", spec));
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].code, local::ResultCode::kInvalidArgument);
}

TEST_F(WorkerCoreTest, APlanThatDoesNotFitIsReportedAndHarmsNothing) {
  Begin();
  Submit(0, 1, "x");
  Submit(1, 1, "x");
  for (const auto& actions : {Plan(0, "unknown"), Plan(0, "x", 5)}) {
    EXPECT_TRUE(All<StartBucket>(actions).empty());
    ASSERT_EQ(All<Send>(actions).size(), 1u);
    EXPECT_TRUE(All<Send>(actions)[0].message.has_plan_failed());
  }
  EXPECT_EQ(All<StartBucket>(Plan(0, "x")).size(), 1u);
}

TEST_F(WorkerCoreTest, AnEntryOutOfOrderEndsTheJob) {
  Begin();
  ++next_entry_;
  const auto ends = All<EndJob>(Fail("x", ""));
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].code, 72);
}

TEST_F(WorkerCoreTest, ALeaverIsReleasedAfterLeftAndAfterItsBuckets) {
  Begin();
  Submit(0, 1, "x");
  Submit(1, 1, "x");
  const auto id = All<StartBucket>(Plan(0, "x"))[0].bucket.id;
  Submit(1, 2, "y");
  Submit(0, 3, "z");
  const auto sent = All<Send>(Step(LeaveCalled{1}));
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].message.leave().ranks(0), 3);
  // The other rank's request is announced alone: the coordinator says who has left.
  EXPECT_EQ(sent[1].message.ready().ready(0).name(), "z");
  EXPECT_EQ(sent[1].message.ready().ready(0).variants(0).ranks_size(), 1);
  EXPECT_TRUE(All<Release>(Entry([](control::Entry& entry) {
                entry.mutable_left()->add_ranks(3);
              })).empty());
  const auto actions = Step(BucketEnded{id, OkStatus()});
  const auto done = All<Complete>(actions);
  ASSERT_EQ(done.size(), 3u);
  EXPECT_EQ(done[2].request, 2u);
  EXPECT_EQ(done[2].code, local::ResultCode::kAborted);
  ASSERT_EQ(All<Release>(actions).size(), 1u);
  EXPECT_EQ(All<Release>(actions)[0].local, 1);
}

TEST_F(WorkerCoreTest, ATrainerThatGivesUpInInitIsOneThatHasLeft) {
  EXPECT_EQ(All<Release>((Step(InitCalled{0}), Step(LeaveCalled{0}))).size(), 1u);
  EXPECT_TRUE(All<Send>(Step(InitCalled{0})).empty()) << "it is counted already";
  Step(LeaveCalled{0});
  Step(InitCalled{1});
  const auto sent = All<Send>(Entry([&](control::Entry& entry) {
    control::EpochBegin& begin = *entry.mutable_epoch_begin();
    begin.set_epoch(1);
    begin.set_max_segment_bytes(1);
    begin.set_max_channels(1);
    control::HostInfo& info = *begin.add_hosts();
    info.set_host(1);
    info.add_ranks(2);
    info.add_ranks(3);
  }));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].message.leave().ranks(0), 2);
}

TEST_F(WorkerCoreTest, AfterAFailedInitATrainerThatHadGivenUpAsksAnew) {
  Step(InitCalled{0});
  Step(LeaveCalled{0});
  FromCoordinator failed;
  failed.message.mutable_init_failed()->set_reason("rank 5 ended");
  EXPECT_TRUE(All<RefuseInit>(Step(std::move(failed))).empty());
  EXPECT_EQ(All<Send>(Step(InitCalled{0})).size(), 1u);
}

TEST_F(WorkerCoreTest, ADeathIsReportedAtOnceAndSaysWhetherItHadAttached) {
  auto ended = All<Send>(Step(TrainerEnded{0, 7, 0, "exit 7"}))[0].message.rank_ended();
  EXPECT_FALSE(ended.attached());
  Begin();
  ended = All<Send>(Step(TrainerEnded{1, 137, 9, "signal 9"}))[0].message.rank_ended();
  EXPECT_TRUE(ended.attached());
  EXPECT_EQ(ended.rank(), 3);
  EXPECT_EQ(ended.code(), 137);
}

TEST_F(WorkerCoreTest, ALostLinkFailsNoRequest) {
  Begin();
  Submit(0, 1, "x");
  Submit(1, 1, "x");
  const auto id = All<StartBucket>(Plan(0, "x"))[0].bucket.id;
  EXPECT_TRUE(All<Complete>(Step(BucketEnded{id, Unavailable("peer is gone")})).empty());
  const auto sent = All<Send>(Step(LinkFailed{0, "reset"}));
  EXPECT_EQ(sent[0].message.link_lost().peer_host(), 0);
}

TEST_F(WorkerCoreTest, TheEndFailsWhatIsPendingWithItsReason) {
  Begin();
  Submit(0, 1, "x");
  FromCoordinator event;
  event.message.mutable_end()->set_code(9);
  event.message.mutable_end()->set_reason("rank 1 died");
  const auto actions = Step(std::move(event));
  ASSERT_EQ(All<Complete>(actions).size(), 1u);
  EXPECT_EQ(All<Complete>(actions)[0].text, "the job has ended: rank 1 died");
  EXPECT_EQ(All<EndJob>(actions)[0].code, 9);
  EXPECT_FALSE(All<EndJob>(actions)[0].trainers_told) << "rank 1's own words are enough";
  EXPECT_EQ(All<Complete>(Submit(1, 1, "x"))[0].code, local::ResultCode::kAborted);
}

TEST_F(WorkerCoreTest, WhoWaitsWhenAHostIsLostMayRaiseIt) {
  Begin();
  Submit(0, 1, "x");
  EXPECT_TRUE(All<EndJob>(LoseAHost())[0].trainers_told);
}

TEST_F(WorkerCoreTest, WhoDoesNotWaitWhenAHostIsLostIsEndedAtOnce) {
  Begin();
  EXPECT_FALSE(All<EndJob>(LoseAHost())[0].trainers_told);
}

TEST_F(WorkerCoreTest, WithoutItsCoordinatorAWorkerFailsWhatIsPendingAsUnavailable) {
  Begin();
  Submit(0, 1, "x");
  const auto actions = Step(GiveUp{72, "the coordinator is lost"});
  ASSERT_EQ(All<Complete>(actions).size(), 1u);
  EXPECT_EQ(All<Complete>(actions)[0].code, local::ResultCode::kUnavailable);
  ASSERT_EQ(All<EndJob>(actions).size(), 1u);
  EXPECT_FALSE(All<EndJob>(actions)[0].by_coordinator);
}

TEST_F(WorkerCoreTest, IsQuietFromAHeartbeatWithNothingPendingToTheNextRequest) {
  Begin();
  EXPECT_FALSE(core_.quiet());
  Step(HeartbeatDue{});
  EXPECT_TRUE(core_.quiet());
  Submit(0, 1, "a");
  EXPECT_FALSE(core_.quiet());
  Step(HeartbeatDue{});
  EXPECT_FALSE(core_.quiet());
}

TEST_F(WorkerCoreTest, AHeartbeatNamesTheRanksThatAreMissing) {
  Begin();
  Submit(0, 1, "x");
  const auto sent = All<Send>(Step(HeartbeatDue{}, kNow + seconds(2)));
  const control::Heartbeat& beat = sent[0].message.heartbeat();
  ASSERT_EQ(beat.waiting_size(), 1);
  EXPECT_EQ(beat.waiting(0).name(), "x");
  ASSERT_EQ(beat.waiting(0).missing_ranks_size(), 1);
  EXPECT_EQ(beat.waiting(0).missing_ranks(0), 3);
  EXPECT_EQ(beat.waiting(0).seconds(), 2.0);
}

}  // namespace
}  // namespace reigen::worker
