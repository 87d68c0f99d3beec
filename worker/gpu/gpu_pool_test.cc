// Goal: commands reach their trainers with the places as these know them, end with what
// comes of them, and with an error when nothing comes; scratch is chosen and said.
// Method: trainers and network by hand.
#include "worker/gpu/gpu_pool.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "proto/local/local.h"
#include "runtime/base/log.h"
#include "runtime/base/unique_fd.h"
#include "runtime/collective/bucket.h"
#include "worker/core/request.h"
#include "worker/core/request_table.h"
#include "worker/gpu/gate.h"
#include "worker/gpu/gpu_scratch.h"
#include "worker/session/trainer_fd.h"

namespace reigen::worker {
namespace {

using Verdict = GateGpus::Fitness::Verdict;

std::byte* At(uintptr_t address) { return reinterpret_cast<std::byte*>(address); }
constexpr uint64_t kArenaBytes = 1 << 20;
constexpr uint64_t kWindow = 64 << 10;

class FakeTrainers : public DeviceTrainers {
 public:
  void SendPeerArena(int local, const local::PeerArena& arena) override {
    offers.emplace_back(local, arena);
  }
  void SendHostScratch(int local, uint64_t bytes, int fd) override {
    EXPECT_GE(fd, 0);
    EXPECT_EQ(bytes, gpudirect::ScratchBytes(kWindow));
    scratches.push_back(local);
  }
  void SendDeviceUse(int local, bool use, const std::string& why_not) override {
    EXPECT_FALSE(use);
    not_used[local] = why_not;
  }
  void SendCommand(int local, const local::CommandSlot& command,
                   std::vector<CommandWord> words) override {
    commands[local].emplace_back(command, std::move(words));
  }
  std::byte* HostMemory(int, uint32_t arena, uint64_t offset, uint64_t bytes) override {
    return arena == 0 && offset + bytes <= 4096 ? memory + offset : nullptr;
  }
  void EndSession(int, const std::string& reason) override { ended.push_back(reason); }

  std::vector<std::pair<int, local::PeerArena>> offers;
  std::vector<int> scratches;
  std::map<int, std::string> not_used;
  std::map<int, std::vector<std::pair<local::CommandSlot, std::vector<CommandWord>>>> commands;
  std::vector<std::string> ended;
  std::byte memory[4096];
};

class FakeDeviceNetwork : public DeviceNetwork {
 public:
  Status LinksTakeDeviceMemory() const override { return links; }
  std::vector<gpudirect::NicFacts> NicsFor(const std::string&) const override { return nics; }
  Status RegisterDevice(const transport::DeviceMemory& memory) override {
    if (registers.ok()) registered.push_back(memory);
    return registers;
  }
  Status RegisterHost(std::span<std::byte>) override { return registers_host; }
  void ReleaseDeviceMemory() override { registered.clear(); }

  Status links;
  Status registers;
  Status registers_host;
  std::vector<gpudirect::NicFacts> nics = {
      {.name = "mlx5_0", .distance = gpudirect::Distance::kSameSwitch}};
  std::vector<transport::DeviceMemory> registered;
};

class GpuPoolTest : public testing::Test {
 protected:
  explicit GpuPoolTest(bool require = false)
      : scratch_({.ranks = {4, 5}, .require = require}, &trainers_, executor_.get()),
        pool_({.ranks = {4, 5}}, &trainers_, &scratch_) {
    pool_.BeginEpoch();
    scratch_.BeginEpoch(&network_, kWindow);
  }

  // Of local rank r: the scratch at 0x1000'0000 * (r + 1), payloads 0x100'0000 behind it.
  static std::byte* Payload(int local) {
    return At(0x10000000u * static_cast<unsigned>(local + 1) + 0x1000000);
  }
  void AddArenas(int local, bool scratch = true) {
    DeviceArena arena;
    arena.bus_id = "0000:3b:00.0";
    arena.capability_major = 9;
    arena.allows_rdma = true;
    if (scratch) {
      arena.id = 1;
      arena.base = At(0x10000000u * static_cast<unsigned>(local + 1));
      arena.bytes = gpudirect::ScratchBytes(kWindow);
      arena.kind = local::DeviceArenaKind::kScratch;
      arena.dmabuf = TrainerFd(UniqueFd(eventfd(0, EFD_CLOEXEC)), executor_.get());
      pool_.OnDeviceArena(local, std::move(arena));
    }
    DeviceArena payloads;
    payloads.id = 2;
    payloads.base = Payload(local);
    payloads.bytes = kArenaBytes;
    pool_.OnDeviceArena(local, std::move(payloads));
  }
  void OpenAll() {
    for (const auto& [to, arena] : std::exchange(trainers_.offers, {})) {
      pool_.OnPeerArenaOpened(to, static_cast<int>(arena.local_rank), arena.arena, OkStatus());
    }
  }
  void AddBoth() {
    AddArenas(0);
    AddArenas(1);
    OpenAll();
  }
  collective::Bucket Bucket(int hosts) {
    collective::Bucket bucket;
    bucket.algorithm = hosts > 1 ? Algorithm::kRing : Algorithm::kNone;
    bucket.hosts.resize(static_cast<size_t>(hosts));
    bucket.tensors.push_back({.count = 4,
                              .inputs = {Payload(0), Payload(1)},
                              .outputs = {Payload(0), Payload(1)}});
    return bucket;
  }
  void Submit(int leader) {
    collective::GpuCommand command;
    command.items.push_back({.count = 4,
                             .inputs = {Payload(0) + 64, Payload(1)},
                             .outputs = {Payload(0) + 64}});
    pool_.Submit(leader, command,
                 [this](const Status& status) { done_.push_back(Message(status)); });
  }
  void Answer(int local, const std::string& error = "") {
    local::DoneSlot slot;
    if (!error.empty()) slot.code = local::ResultCode::kInternal;
    slot.text_bytes = static_cast<uint32_t>(error.size());
    std::memcpy(slot.text, error.data(), error.size());
    pool_.OnCommandDone(local, slot);
  }

  FakeTrainers trainers_;
  FakeDeviceNetwork network_;
  std::unique_ptr<collective::WorkExecutor> executor_ = collective::MakeInlineExecutor();
  GpuScratch scratch_;
  GpuPool pool_;
  std::vector<std::string> done_;
  Time now_ = Time{} + seconds(100);
};

TEST_F(GpuPoolTest, ABucketFitsOnceAllHaveOpenedAll) {
  AddArenas(0);
  AddArenas(1);
  EXPECT_EQ(pool_.leaders(), 2);
  EXPECT_EQ(pool_.Fits(Bucket(1)).verdict, Verdict::kLater);
  OpenAll();
  EXPECT_EQ(pool_.Fits(Bucket(1)).verdict, Verdict::kFits);
  EXPECT_TRUE(pool_.IsDevice(Payload(1)));
  EXPECT_FALSE(pool_.IsDevice(At(64)));
}

TEST_F(GpuPoolTest, WhoCannotOpenIsSaidToAll) {
  AddArenas(0);
  AddArenas(1);
  pool_.OnPeerArenaOpened(1, 0, 2, Unavailable("CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"));
  const auto fitness = pool_.Fits(Bucket(1));
  EXPECT_EQ(fitness.verdict, Verdict::kNot);
  EXPECT_EQ(fitness.why, "rank 5's GPU cannot reach the memory of rank 4's: "
                         "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED");
  EXPECT_EQ(trainers_.not_used, (std::map<int, std::string>{{0, fitness.why}, {1, fitness.why}}));
}

TEST_F(GpuPoolTest, ThatOneHasNoTensorsOnItsGpuIsSaidToAllAndToWhoComesLater) {
  AddArenas(0);
  const std::string why = "CUDA device 0: cuIpcGetMemHandle: CUDA_ERROR_NOT_SUPPORTED";
  pool_.OnNoDeviceUse(1, why);
  const std::string told = "rank 5 has no tensors on its GPU: " + why;
  EXPECT_EQ(trainers_.not_used, (std::map<int, std::string>{{0, told}}));
  AddArenas(1);
  EXPECT_EQ(trainers_.not_used, (std::map<int, std::string>{{0, told}, {1, told}}));
  trainers_.not_used.clear();
  pool_.BeginEpoch();
  AddArenas(0);
  EXPECT_TRUE(trainers_.not_used.empty());
}

TEST_F(GpuPoolTest, ACommandNamesPlacesAndEndsWithItsAnswer) {
  AddBoth();
  Submit(1);
  ASSERT_EQ(trainers_.commands[1].size(), 1u);
  const auto& [slot, words] = trainers_.commands[1][0];
  EXPECT_EQ(slot.inputs, 2);
  local::MemoryPlace place;
  std::memcpy(static_cast<void*>(&place), words[1].data(), sizeof place);
  EXPECT_EQ(place.owner, 0);
  EXPECT_EQ(place.arena, 2u);
  EXPECT_EQ(place.offset, 64u);
  Answer(1);
  EXPECT_TRUE(done_.empty()) << "never from within";
  EXPECT_EQ(pool_.NextDeadline(), Time::min());
  pool_.Progress(now_);
  EXPECT_EQ(done_, (std::vector<std::string>{""}));
  Submit(0);
  Answer(0, "CUDA_ERROR_ILLEGAL_ADDRESS");
  pool_.Progress(now_);
  EXPECT_EQ(done_.back(), "rank 4's GPU: CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST_F(GpuPoolTest, WhatIsOutEndsWithItsSessionAndLaterOnesToo) {
  AddBoth();
  Submit(1);
  pool_.OnSessionEnded(1, /*memory_stays=*/false);
  Submit(1);
  pool_.Progress(now_);
  EXPECT_EQ(done_, (std::vector<std::string>{"rank 5 is gone", "rank 5 is gone"}));
  EXPECT_EQ(pool_.leaders(), 2) << "indices stay";
  EXPECT_EQ(pool_.Fits(Bucket(1)).verdict, Verdict::kNot);
  pool_.FreeEnded();
  EXPECT_FALSE(pool_.IsDevice(Payload(1)));
  pool_.BeginEpoch();
  EXPECT_EQ(pool_.leaders(), 1);
}

// Its address range is never to be accessed: on the host the bucket would read it.
TEST_F(GpuPoolTest, APlanOfASessionThatBrokeFailsThoughTheHostWasIdleMeanwhile) {
  AddBoth();
  ASSERT_EQ(pool_.Fits(Bucket(2)).verdict, Verdict::kFits);
  auto spec = std::make_shared<RequestSpec>();
  spec->device_kind = local::kCudaDevice;
  spec->tensors = {{.name = "x", .dtype = DataType::kFloat32, .count = 4, .shape = {4}}};
  auto instance = std::make_shared<Instance>();
  instance->name = "x";
  for (int local : {0, 1}) {
    Request request;
    request.spec = spec;
    request.data = {Payload(local)};
    instance->requests.emplace_back(std::move(request));
  }
  pool_.OnSessionEnded(1, /*memory_stays=*/true);
  pool_.Progress(now_);
  pool_.FreeEnded();
  EXPECT_TRUE(network_.registered.empty());
  int started = 0;
  Gate gate(Gate::Options(), &pool_, [&started](collective::Bucket) { ++started; });
  for (int hosts : {1, 2}) {
    collective::Bucket bucket = Bucket(hosts);
    bucket.done = [this](const Status& status) { done_.push_back(Message(status)); };
    gate.Push(std::move(bucket), {instance}, {0}, now_);
    while (!trainers_.commands[0].empty()) {
      trainers_.commands[0].pop_back();
      Answer(0);
    }
    pool_.Progress(now_);
    gate.Step(now_);
  }
  EXPECT_EQ(started, 0);
  EXPECT_EQ(done_, (std::vector<std::string>(2, "x: rank 5 is gone")));
}

TEST_F(GpuPoolTest, AnAnswerThatDoesNotComeIsAnErrorAndLateOnesAreIgnored) {
  AddBoth();
  pool_.Progress(now_);
  Submit(0);
  Submit(0);
  EXPECT_EQ(pool_.NextDeadline(), now_ + seconds(10));
  pool_.Progress(now_ + seconds(10));
  EXPECT_EQ(pool_.NextDeadline(), now_ + seconds(300)) << "warned";
  Answer(0);
  pool_.Progress(now_ + seconds(299));
  EXPECT_EQ(done_.size(), 1u);
  pool_.Progress(now_ + seconds(309));
  EXPECT_EQ(done_.size(), 1u) << "it answered then";
  pool_.Progress(now_ + seconds(310));
  EXPECT_EQ(done_.back(), "rank 4 has answered no GPU command for 300 s");
  Answer(0);
  pool_.Progress(now_ + seconds(311));
  EXPECT_EQ(done_.size(), 2u);
  Submit(0);
  pool_.Progress(now_ + seconds(312));
  EXPECT_EQ(done_.back(), "rank 4 answers no GPU command");
}

TEST_F(GpuPoolTest, AtTheEndOfTheJobNothingStaysOut) {
  AddBoth();
  Submit(0);
  pool_.Progress(now_);
  pool_.EndBy(now_ + seconds(1));
  EXPECT_EQ(pool_.NextDeadline(), now_ + seconds(1));
  pool_.Progress(now_ + seconds(1));
  EXPECT_EQ(done_, (std::vector<std::string>{"the job has ended"}));
  Submit(1);
  pool_.EndAll(Aborted("the worker ends"));
  EXPECT_EQ(done_.size(), 2u);
}

TEST_F(GpuPoolTest, DirectScratchIsRegisteredAndEachLeadersOwn) {
  AddBoth();
  EXPECT_EQ(pool_.Fits(Bucket(2)).verdict, Verdict::kFits);
  ASSERT_EQ(network_.registered.size(), 2u);
  EXPECT_EQ(network_.registered[0].near, (std::vector<std::string>{"mlx5_0"}));
  EXPECT_TRUE(network_.registered[0].read_back);
  EXPECT_NE(&pool_.scratch(0), &pool_.scratch(1));
  EXPECT_EQ(pool_.scratch(1).WindowBytes(0), kWindow);
  EXPECT_EQ(pool_.scratch(1).TakeFromWindow(0, 64), At(0x20000000));
  EXPECT_TRUE(trainers_.scratches.empty());
  pool_.OnSessionEnded(1, /*memory_stays=*/false);
  EXPECT_EQ(network_.registered.size(), 2u) << "until links are fenced";
  pool_.FreeEnded();
  EXPECT_TRUE(network_.registered.empty());
}

TEST_F(GpuPoolTest, AScratchInUseIsNotReplaced) {
  AddBoth();
  ASSERT_EQ(pool_.Fits(Bucket(2)).verdict, Verdict::kFits);
  const collective::Scratch* const used = &pool_.scratch(0);
  DeviceArena other;
  other.id = 3;
  other.base = At(0x70000000);
  other.bytes = gpudirect::ScratchBytes(kWindow);
  other.kind = local::DeviceArenaKind::kScratch;
  scratch_.Add(0, std::move(other));
  EXPECT_EQ(&pool_.scratch(0), used);
  EXPECT_EQ(pool_.scratch(0).TakeFromWindow(0, 64), At(0x10000000));
}

// C49: whatever the kernel says to the dma-buf, there is another way.
TEST_F(GpuPoolTest, ARefusedRegistrationIsStaged) {
  for (int error : {EOPNOTSUPP, EINVAL, EFAULT, 0}) {
    network_.registers =
        error == 0 ? OkStatus() : ErrnoStatus(StatusCode::kUnavailable, "mlx5_0", error);
    scratch_.BeginEpoch(&network_, kWindow);
    AddBoth();
    trainers_.scratches.clear();
    const auto fitness = pool_.Fits(Bucket(2));
    if (error == 0) {
      EXPECT_EQ(fitness.verdict, Verdict::kFits);
    } else {
      EXPECT_EQ(fitness.verdict, Verdict::kLater);
      executor_->Progress();
      EXPECT_EQ(trainers_.scratches, (std::vector<int>{0, 1}));
      pool_.OnHostScratchMapped(0, OkStatus());
      EXPECT_EQ(pool_.Fits(Bucket(2)).verdict, Verdict::kLater);
      pool_.OnHostScratchMapped(1, OkStatus());
      EXPECT_EQ(pool_.Fits(Bucket(2)).verdict, Verdict::kFits);
      EXPECT_EQ(&pool_.scratch(0), &pool_.scratch(1));
    }
    for (int local : {0, 1}) pool_.OnSessionEnded(local, /*memory_stays=*/false);
    pool_.FreeEnded();
  }
}

TEST_F(GpuPoolTest, ACommandNamesTheHostScratchByItsOffset) {
  network_.links = Unavailable("tcp");
  AddBoth();
  (void)pool_.Fits(Bucket(2));
  executor_->Progress();
  for (int local : {0, 1}) pool_.OnHostScratchMapped(local, OkStatus());
  collective::GpuCommand command;
  command.items.push_back({.count = 4,
                           .inputs = {Payload(0)},
                           .outputs = {pool_.scratch(1).TakeFromWindow(0, 64),
                                       pool_.scratch(1).TakeFromWindow(0, 64)}});
  pool_.Submit(1, command, [](const Status&) {});
  local::MemoryPlace place;
  std::memcpy(static_cast<void*>(&place), trainers_.commands[1][0].second[3].data(), sizeof place);
  EXPECT_EQ(place.owner, local::kHostScratchOwner);
  EXPECT_EQ(place.offset, 64u);
}

TEST_F(GpuPoolTest, WhoCannotMapTheScratchMakesItFail) {
  network_.links = Unavailable("tcp");
  AddBoth();
  (void)pool_.Fits(Bucket(2));
  executor_->Progress();
  pool_.OnHostScratchMapped(1, Unavailable("CUDA_ERROR_OUT_OF_MEMORY"));
  const auto fitness = pool_.Fits(Bucket(2));
  EXPECT_EQ(fitness.verdict, Verdict::kNot);
  EXPECT_EQ(fitness.why,
            "rank 5 cannot map the scratch for its GPU: CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(pool_.Fits(Bucket(1)).verdict, Verdict::kFits) << "it needs none";
}

// C43, the limit hit later: the payloads go through memory of the host, whose scratch is
// registered already.
TEST_F(GpuPoolTest, AScratchThatCannotBeLockedLeavesTheBucketToTheHost) {
  network_.registers = ErrnoStatus(StatusCode::kResourceExhausted, "mlx5_0", ENOMEM);
  network_.registers_host = ResourceExhausted("locked memory is limited to 64 MiB");
  AddBoth();
  (void)pool_.Fits(Bucket(2));
  executor_->Progress();
  const auto fitness = pool_.Fits(Bucket(2));
  EXPECT_EQ(fitness.verdict, Verdict::kNot);
  EXPECT_EQ(fitness.why, "scratch for GPUs: locked memory is limited to 64 MiB");
  EXPECT_EQ(trainers_.not_used, (std::map<int, std::string>{{0, fitness.why}, {1, fitness.why}}));
  EXPECT_TRUE(trainers_.scratches.empty());
  EXPECT_EQ(pool_.Fits(Bucket(1)).verdict, Verdict::kFits) << "it needs none";
}

TEST_F(GpuPoolTest, WhoDoesNotAnswerIsGivenUp) {
  network_.links = Unavailable("tcp");
  AddBoth();
  (void)pool_.Fits(Bucket(2));
  executor_->Progress();
  pool_.OnHostScratchMapped(0, OkStatus());
  pool_.StopWaiting();
  EXPECT_EQ(pool_.Fits(Bucket(2)).why, "rank 5 has not mapped the scratch for its GPU");
}

// Nothing falls back without a word; what people see is at the level of warnings.
TEST_F(GpuPoolTest, StagingOverRdmaIsWarnedOfOnceAtTheDefaultLevel) {
  const auto log_of = [&](const Status& links, const Status& registers) {
    network_.links = links;
    network_.registers = registers;
    scratch_.BeginEpoch(&network_, kWindow);
    AddBoth();
    SetLogLevel("warning");
    testing::internal::CaptureStdout();  // where the log goes in a test
    (void)pool_.Fits(Bucket(2));
    executor_->Progress();
    const std::string log = testing::internal::GetCapturedStdout();
    SetLogLevel("info");
    for (int local : {0, 1}) pool_.OnSessionEnded(local, /*memory_stays=*/false);
    pool_.FreeEnded();
    pool_.BeginEpoch();
    return log;
  };
  EXPECT_EQ(log_of(OkStatus(), OkStatus()), "");
  EXPECT_EQ(log_of(Unavailable("tcp"), OkStatus()), "") << "the coordinator tells that";
  const Status refused = ErrnoStatus(StatusCode::kUnimplemented, "mlx5_0: dma-buf", EOPNOTSUPP);
  const std::string log = log_of(OkStatus(), refused);
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  for (const char* part : {"rank 4: mlx5_0: dma-buf: Operation not supported",
                           "remedy: Linux 5.12 or later", "not by GPUDirect"}) {
    EXPECT_NE(log.find(part), std::string::npos) << log;
  }
  EXPECT_EQ(log_of(OkStatus(), refused), "") << "once";
}

class RequiringPoolTest : public GpuPoolTest {
 protected:
  RequiringPoolTest() : GpuPoolTest(/*require=*/true) {}
};

TEST_F(RequiringPoolTest, StagedIsAFailureWithItsReason) {
  network_.registers = Unavailable("mlx5_0: Operation not supported");
  AddBoth();
  const auto fitness = pool_.Fits(Bucket(2));
  EXPECT_EQ(fitness.verdict, Verdict::kNot);
  EXPECT_EQ(fitness.why, "rank 4: gpu-direct: staged (mlx5_0: Operation not supported)");
}

TEST_F(GpuPoolTest, AMirrorIsCheckedAsAPayloadIs) {
  AddBoth();
  auto spec = std::make_shared<RequestSpec>();
  spec->tensors = {{.name = "a", .dtype = DataType::kFloat32, .count = 3, .shape = {3}},
                   {.name = "b", .dtype = DataType::kFloat32, .count = 0, .shape = {0}},
                   {.name = "c", .dtype = DataType::kFloat32, .count = 1, .shape = {1}}};
  Request request;
  request.id = 9;
  request.spec = spec;
  std::vector<std::byte*> memory;
  std::string error;
  const auto mirror = [&] {
    pool_.Mirror(0, request, "why", [&](StatusOr<std::vector<std::byte*>> answer) {
      error = Message(answer.status());
      if (answer.ok()) memory = *answer;
    });
  };
  mirror();
  EXPECT_EQ(trainers_.commands[0][0].first.kind, local::CommandKind::kMirror);
  EXPECT_EQ(trainers_.commands[0][0].first.request, 9u);
  local::DoneSlot slot;
  slot.offset = 128;
  pool_.OnCommandDone(0, slot);
  pool_.Progress(now_);
  EXPECT_EQ(memory, (std::vector<std::byte*>{trainers_.memory + 128, nullptr,
                                             trainers_.memory + 192}));
  mirror();
  slot.offset = 4096 - 64;  // the last one would be beyond
  pool_.OnCommandDone(0, slot);
  pool_.Progress(now_);
  EXPECT_EQ(error, "rank 4 mirrored nothing");
  ASSERT_EQ(trainers_.ended.size(), 1u);
}

}  // namespace
}  // namespace reigen::worker
