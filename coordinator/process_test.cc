// The real process with workers by script and the test as its launcher.
#include "coordinator/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "coordinator/core/test_specs.h"
#include "coordinator/testing/coordinator_child.h"
#include "coordinator/testing/fake_worker.h"
#include "runtime/base/runtime_folder.h"

namespace reigen::coordinator {
namespace {

using control::WorkerMessage;
using testing::HasSubstr;

constexpr char kProgram[] = "coordinator/reigen-coordinator";
const std::string kSecret(32, 's');

class CoordinatorProcessTest : public testing::Test {
 protected:
  CoordinatorProcessTest() : child_(kProgram) {
    base_ = std::string(std::getenv("TEST_TMPDIR")) + "/" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directory(base_);
    folder_ = RuntimeFolderPath(base_, "j-c");
  }

  static launch::ToCoordinator StartMessage() {
    launch::ToCoordinator message;
    launch::CoordinatorStart& start = *message.mutable_start();
    start.set_job("j");
    start.set_secret(kSecret);
    start.set_incarnation(1);
    start.add_listen_addresses("127.0.0.1");
    for (int host : {0, 1}) {
      launch::HostSlots& slots = *start.add_hosts();
      slots.set_host(host);
      slots.set_name(host == 0 ? "a" : "b");
      slots.set_slots(1);
      slots.add_ranks(host);
    }
    launch::JobOptions& options = *start.mutable_options();
    options.set_fusion_threshold_bytes(64 << 20);
    options.set_small_max_bytes(16 << 10);
    options.set_stall_warning_seconds(60);
    options.set_heartbeat_seconds(0.2);
    options.set_dead_after_seconds(60);  // the workers of a script send no heartbeats
    options.set_log_level("info");
    return message;
  }

  void Start() { Start(StartMessage()); }
  void Start(launch::ToCoordinator message) {
    message.mutable_start()->set_folder(folder_);
    child_.Tell(message);
    const auto listening = child_.Receive();
    ASSERT_TRUE(listening && listening->has_listening());
    ASSERT_EQ(listening->listening().addresses_size(), 1);
    address_ = listening->listening().addresses(0);
  }

  std::unique_ptr<FakeWorker> Attach(int host) {
    auto worker = std::make_unique<FakeWorker>(address_, host);
    const auto welcome = worker->Prove(kSecret);
    EXPECT_TRUE(welcome && welcome->has_welcome());
    WorkerMessage attached;
    attached.mutable_attached()->set_pid(1);
    attached.mutable_attached()->add_link_addresses("tcp:127.0.0.1:" + std::to_string(host + 1));
    worker->Send(attached);
    return worker;
  }

  void AttachBoth() {
    a_ = Attach(0);
    b_ = Attach(1);
  }
  void Begin() {
    AttachBoth();
    for (int rank : {0, 1}) {
      WorkerMessage init;
      init.mutable_init()->add_ranks(rank);
      Of(rank).Send(init);
    }
    const auto epoch = child_.ReceiveNoNotice();
    ASSERT_TRUE(epoch && epoch->has_epoch());
    for (int rank : {0, 1}) {
      const auto entry = Of(rank).ReceiveEntry();
      ASSERT_TRUE(entry && entry->has_epoch_begin());
      epoch_ = entry->epoch_begin().epoch();
    }
  }

  FakeWorker& Of(int rank) { return rank == 0 ? *a_ : *b_; }
  void SendReady(int rank, const std::string& name, uint64_t count) {
    WorkerMessage message;
    message.mutable_ready()->set_epoch(epoch_);
    message.mutable_ready()->set_entries_seen(Of(rank).entries_seen());
    control::Ready& ready = *message.mutable_ready()->add_ready();
    ready.set_name(name);
    *ready.add_variants()->mutable_spec() = Allreduce(name, {count});
    ready.mutable_variants(0)->add_ranks(rank);
    Of(rank).Send(message);
  }
  void SendHeartbeat(int rank) {
    WorkerMessage message;
    message.mutable_heartbeat()->set_epoch(epoch_);
    message.mutable_heartbeat()->set_entries_seen(Of(rank).entries_seen());
    Of(rank).Send(message);
  }
  launch::Verdict ReceiveVerdict() {
    while (true) {
      const auto message = child_.Receive();
      if (!message) return {};
      if (message->has_verdict()) return message->verdict();
    }
  }
  control::End ReceiveEnd(FakeWorker& worker) {
    while (true) {
      const auto message = worker.Receive();
      if (!message) return {};
      if (message->has_end()) return message->end();
    }
  }
  void ExpectGone() {
    EXPECT_EQ(child_.WaitForExit(), 0);
    EXPECT_FALSE(std::filesystem::exists(folder_));
  }

  CoordinatorChild child_;
  std::string base_;
  std::string folder_;
  std::string address_;
  std::unique_ptr<FakeWorker> a_, b_;
  uint64_t epoch_ = 0;
};

TEST_F(CoordinatorProcessTest, AJobFromStartToEnd) {
  Start();
  Begin();
  for (int rank : {0, 1}) SendReady(rank, "x", 4);
  for (int rank : {0, 1}) {
    const auto name = Of(rank).ReceiveEntry();
    ASSERT_TRUE(name && name->has_name_def());
    const auto plan = Of(rank).ReceiveEntry();
    ASSERT_TRUE(plan && plan->has_plan());
    EXPECT_EQ(plan->plan().tensors(0).spec().count(), 4u);
  }

  for (int rank : {0, 1}) SendReady(rank, "y", 4 + rank);
  for (int rank : {0, 1}) {
    const auto fail = Of(rank).ReceiveEntry();
    ASSERT_TRUE(fail && fail->has_fail());
    EXPECT_EQ(fail->fail().reason(), "y: ranks disagree on shape: [4] on rank 0; [5] on rank 1");
  }

  for (int rank : {0, 1}) {
    WorkerMessage leave, ended, finished;
    leave.mutable_leave()->set_epoch(epoch_);
    leave.mutable_leave()->add_ranks(rank);
    Of(rank).Send(leave);
    ended.mutable_rank_ended()->set_rank(rank);
    Of(rank).Send(ended);
    finished.mutable_finished();
    Of(rank).Send(finished);
  }
  EXPECT_EQ(ReceiveVerdict().code(), 0);
  EXPECT_EQ(ReceiveEnd(*a_).reason(), "all ranks ended well");
  EXPECT_EQ(ReceiveEnd(*b_).code(), 0);
  a_.reset();
  b_.reset();
  ExpectGone();
}

// C52: a caller without the key is refused; the job is unhurt.
TEST_F(CoordinatorProcessTest, StrangersAreRefusedAndDisturbNothing) {
  Start();
  {
    FakeWorker wrong_key(address_, 0);
    const auto reply = wrong_key.Prove(std::string(32, 'x'));
    ASSERT_TRUE(reply && reply->has_refused());
    EXPECT_THAT(reply->refused().reason(), HasSubstr("secret"));
    EXPECT_FALSE(wrong_key.Receive());

    FakeWorker no_key(address_, 0);
    WorkerMessage attached;
    attached.mutable_attached()->set_pid(1);
    no_key.Send(attached);
    const auto refused = no_key.Receive();
    EXPECT_TRUE(refused && refused->has_refused());

    FakeWorker no_host(address_, 7);
    const auto other = no_host.Prove(kSecret);
    EXPECT_TRUE(other && other->has_refused());
  }
  Begin();
  FakeWorker second(address_, 1);
  const auto reply = second.Prove(kSecret);
  ASSERT_TRUE(reply && reply->has_refused());
  EXPECT_THAT(reply->refused().reason(), HasSubstr("has a worker already"));
  for (int rank : {0, 1}) SendReady(rank, "x", 4);
  for (int rank : {0, 1}) EXPECT_TRUE(Of(rank).ReceiveEntry());
}

TEST_F(CoordinatorProcessTest, OnlyItsUserCanReadTheSecret) {
  Start();
  struct stat st;
  ASSERT_EQ(stat((folder_ + "/status.bin").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(folder_.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
}

TEST_F(CoordinatorProcessTest, ASilentWorkerIsLost) {
  launch::ToCoordinator start = StartMessage();
  start.mutable_start()->mutable_options()->set_dead_after_seconds(3);
  Start(std::move(start));
  Begin();
  std::atomic<bool> lost = false;
  std::thread alive([&] {
    while (!lost) {
      SendHeartbeat(0);
      std::this_thread::sleep_for(milliseconds(100));
    }
  });
  const launch::Verdict verdict = ReceiveVerdict();
  lost = true;
  alive.join();
  EXPECT_EQ(verdict.code(), 71);
  EXPECT_EQ(verdict.host(), 1);
  EXPECT_THAT(verdict.reason(), HasSubstr("host 1 (b): worker lost: no sign of life"));
  EXPECT_EQ(ReceiveEnd(*a_).code(), 71);
  a_.reset();
  b_.reset();
  ExpectGone();
}

TEST_F(CoordinatorProcessTest, ADeadWorkerIsLostAtOnce) {
  Start();
  Begin();
  b_->Die();
  EXPECT_EQ(ReceiveVerdict().host(), 1);
  EXPECT_EQ(ReceiveEnd(*a_).code(), 71);
  a_.reset();
  ExpectGone();
}

TEST_F(CoordinatorProcessTest, ADeadLauncherEndsTheJob) {
  Start();
  Begin();
  child_.CloseInput();
  EXPECT_THAT(ReceiveEnd(*a_).reason(), HasSubstr("launcher"));
  EXPECT_THAT(ReceiveEnd(*b_).reason(), HasSubstr("launcher"));
  a_.reset();
  b_.reset();
  ExpectGone();
}

TEST_F(CoordinatorProcessTest, WorkersThatStayAreLeftToTheirGuards) {
  Start();
  AttachBoth();
  child_.CloseInput();
  ExpectGone();  // within fifteen seconds
}

TEST_F(CoordinatorProcessTest, AnInterruptEndsTheJobWithItsSignal) {
  Start();
  Begin();
  launch::ToCoordinator message;
  message.mutable_interrupt()->set_signal(15);
  child_.Tell(message);
  EXPECT_EQ(ReceiveVerdict().code(), 143);
  EXPECT_EQ(ReceiveEnd(*a_).code(), 143);
}

TEST_F(CoordinatorProcessTest, BadInputOfAWorkerEndsThatStreamAndIsNamed) {
  Start();
  Begin();
  WorkerMessage bad;
  bad.mutable_ready()->set_epoch(epoch_);
  bad.mutable_ready()->add_ready()->set_name_id(99);
  b_->Send(bad);
  const launch::Verdict verdict = ReceiveVerdict();
  EXPECT_EQ(verdict.host(), 1);
  EXPECT_THAT(verdict.reason(), HasSubstr("unknown name id 99"));
  EXPECT_EQ(ReceiveEnd(*a_).code(), 71);
}

TEST_F(CoordinatorProcessTest, APortRangeThatIsTooSmallIsAClearError) {
  Start();
  const std::string port = address_.substr(address_.rfind(':') + 1);
  CoordinatorChild second(kProgram);
  launch::ToCoordinator message = StartMessage();
  message.mutable_start()->mutable_options()->set_port_range(port + "-" + port);
  second.Tell(message);
  const auto answer = second.Receive();
  ASSERT_TRUE(answer && answer->has_verdict());
  EXPECT_THAT(answer->verdict().reason(),
              HasSubstr("no port of " + port + "-" + port + " is free on 127.0.0.1"));
  EXPECT_EQ(second.WaitForExit(), 1);
}

TEST_F(CoordinatorProcessTest, AnAddressThatIsNotOursIsAClearError) {
  launch::ToCoordinator message = StartMessage();
  message.mutable_start()->add_listen_addresses("192.0.2.1");
  child_.Tell(message);
  const auto answer = child_.Receive();
  ASSERT_TRUE(answer && answer->has_verdict());
  EXPECT_THAT(answer->verdict().reason(), HasSubstr("192.0.2.1"));
  EXPECT_EQ(child_.WaitForExit(), 1);
}

}  // namespace
}  // namespace reigen::coordinator
