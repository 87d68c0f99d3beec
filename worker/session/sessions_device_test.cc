// Goal: what trainers say of their GPUs arrives checked; what they may not say ends their
// session.
// Method: a scripted trainer in the thread of the loop.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/local/fixed_text.h"
#include "runtime/base/clock.h"
#include "runtime/base/unique_fd.h"
#include "runtime/collective/executor.h"
#include "worker/limits.h"
#include "worker/session/scripted_trainer.h"
#include "worker/session/sessions.h"

namespace reigen::worker {
namespace {

// Does work at once, unless it is held.
class HeldExecutor : public collective::WorkExecutor {
 public:
  void Submit(std::function<void()> work, std::function<void()> done) override {
    if (!held_) return inner_->Submit(std::move(work), std::move(done));
    queue_.emplace_back(std::move(work), std::move(done));
  }
  int event_fd() const override { return inner_->event_fd(); }
  void Progress() override { inner_->Progress(); }
  void Hold() { held_ = true; }
  void LetGo() {
    held_ = false;
    for (auto& [work, done] : std::exchange(queue_, {})) Submit(std::move(work), std::move(done));
  }

 private:
  std::unique_ptr<collective::WorkExecutor> inner_ = collective::MakeInlineExecutor();
  bool held_ = false;
  std::vector<std::pair<std::function<void()>, std::function<void()>>> queue_;
};

// Tells when its `far` is closed everywhere.
struct WatchedFd {
  WatchedFd() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    near.Reset(ends[0]);
    far.Reset(ends[1]);
  }
  bool IsClosed() const {
    pollfd one{near.get(), 0, 0};
    return poll(&one, 1, 0) == 1 && (one.revents & POLLHUP) != 0;
  }
  UniqueFd near, far;
};

class SessionsDeviceTest : public testing::Test, public SessionHandler, public DeviceHandler {
 protected:
  void SetUp() override {
    folder_ = "/tmp/reigen-test-XXXXXX";  // short: a socket's path has 107 bytes
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/worker.sock";
    sessions_->TakeDevices(this);
    ASSERT_TRUE(sessions_->Listen(path_).ok());
    Attach();
    sessions_->BeginEpoch(0, local::EpochBegun{});
    ASSERT_EQ(trainer_->Receive(), local::PacketKind::kEpochBegun);
  }
  void TearDown() override {
    sessions_.reset();
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }

  void OnAttached(int) override {}
  void OnRequest(int, Request request) override { requests_.push_back(std::move(request)); }
  void OnShutdown(int) override {}
  void OnGone(int, pid_t, const std::string& reason) override { gone_.push_back(reason); }
  void OnDeviceArena(int, DeviceArena arena) override { arenas_.push_back(std::move(arena)); }
  void OnPeerArenaOpened(int, int owner, uint32_t arena, const Status& status) override {
    said_.push_back("opened " + std::to_string(owner) + "." + std::to_string(arena) + " " +
                    Message(status));
  }
  void OnHostScratchMapped(int, const Status& status) override {
    said_.push_back("mapped " + Message(status));
  }
  void OnNoDeviceUse(int, const std::string& why) override { said_.push_back("no use: " + why); }
  void OnCommandDone(int, const local::DoneSlot& done) override {
    said_.push_back("done " + std::to_string(done.id));
  }
  void OnSessionEnded(int, bool memory_stays) override {
    said_.push_back(memory_stays ? "ended, its memory stays" : "ended");
  }

  void Turn() {
    loop_->RunOnce(Now() + milliseconds(1));
    executor_->Progress();
    sessions_->TakeDones();
    sessions_->TakeRequests();
    sessions_->Publish();
  }
  void TurnUntil(const std::function<bool()>& condition) {
    const Time deadline = Now() + seconds(30);
    while (!condition() && Now() < deadline) Turn();
    EXPECT_TRUE(condition());
  }
  void Attach() {
    trainer_ = std::make_unique<ScriptedTrainer>(seconds(30), [this] { Turn(); });
    ASSERT_TRUE(trainer_->Connect(path_));
    trainer_->Hello(4);
    ASSERT_EQ(trainer_->Receive(), local::PacketKind::kWelcome);
    EXPECT_EQ(trainer_->packet<local::Welcome>().takes_device_arenas, 1u);
  }
  static local::AddDeviceArena Packet(local::DeviceArenaKind kind, uint64_t bytes = 1 << 20) {
    local::AddDeviceArena packet;
    packet.kind = kind;
    packet.bytes = bytes;
    return packet;
  }
  void ExpectGone(const std::string& why) {
    TurnUntil([this] { return !gone_.empty(); });
    ASSERT_FALSE(gone_.empty());
    EXPECT_NE(gone_[0].find(why), std::string::npos) << gone_[0];
  }

  std::unique_ptr<HeldExecutor> executor_ = std::make_unique<HeldExecutor>();
  std::string folder_, path_;
  std::vector<std::string> gone_, said_;
  std::vector<Request> requests_;
  std::vector<DeviceArena> arenas_;
  std::unique_ptr<EventLoop> loop_ = std::move(*EventLoop::Make());
  std::unique_ptr<Sessions> sessions_ = std::make_unique<Sessions>(
      Sessions::Options{.ranks = {4}, .belongs = [](pid_t, int) { return true; }}, loop_.get(),
      executor_.get(), this);
  std::unique_ptr<ScriptedTrainer> trainer_;
};

TEST_F(SessionsDeviceTest, AnArenaOfAGpuIsOneOfTheSeriesAndHoldsOnlyCudaTensors) {
  auto packet = Packet(local::DeviceArenaKind::kTensors);
  std::snprintf(packet.bus_id, sizeof packet.bus_id, "0000:3b:00.0");
  trainer_->Send(packet);
  ASSERT_EQ(trainer_->Receive(), local::PacketKind::kDeviceArenaAdded);
  EXPECT_EQ(trainer_->packet<local::DeviceArenaAdded>().arena, 1u);
  ASSERT_EQ(arenas_.size(), 1u);
  EXPECT_EQ(arenas_[0].bus_id, "0000:3b:00.0");
  trainer_->DefineName(0, "x");
  local::TensorSlot tensor;
  tensor.count = 10;
  tensor.dtype = static_cast<uint8_t>(DataType::kFloat32);
  tensor.arena = 1;
  tensor.offset = 128;
  trainer_->Allreduce(0, ReduceOp::kSum, local::kCudaDevice, tensor);
  TurnUntil([this] { return !requests_.empty(); });
  EXPECT_EQ(requests_[0].data[0], arenas_[0].base + 128);
  const auto refused =
      trainer_->Wait(trainer_->Allreduce(0, ReduceOp::kSum, local::kHostDevice, tensor));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code, local::ResultCode::kInvalidArgument) << refused->text;
  EXPECT_EQ(sessions_->HostMemory(0, 1, 0, 8), nullptr);
  EXPECT_NE(sessions_->HostMemory(0, 0, 64, 8), nullptr);
  EXPECT_EQ(sessions_->HostMemory(0, 0, 8, 8), nullptr) << "not aligned";
  EXPECT_EQ(sessions_->HostMemory(0, 0, local::kFirstArenaBytes - 64, 65), nullptr);
}

TEST_F(SessionsDeviceTest, AScratchComesWithItsDmabufAndHoldsNoPayload) {
  const UniqueFd fd(eventfd(0, EFD_CLOEXEC));
  const auto packet = Packet(local::DeviceArenaKind::kScratch);
  const int fds[] = {fd.get()};
  trainer_->SendWithFds(&packet, sizeof packet, fds);
  ASSERT_EQ(trainer_->Receive(), local::PacketKind::kDeviceArenaAdded);
  EXPECT_TRUE(arenas_[0].dmabuf.valid());
  EXPECT_TRUE(arenas_[0].why_no_dmabuf.empty());
  trainer_->DefineName(0, "x");
  local::TensorSlot tensor;
  tensor.count = 10;
  tensor.arena = 1;
  const auto refused =
      trainer_->Wait(trainer_->Allreduce(0, ReduceOp::kSum, local::kCudaDevice, tensor));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code, local::ResultCode::kInvalidArgument);
  trainer_->Send(packet);
  ExpectGone("a second scratch");
}

TEST_F(SessionsDeviceTest, TextsAreCutAndPrintableAndBusIdsAreNoPaths) {
  auto packet = Packet(local::DeviceArenaKind::kScratch);
  std::snprintf(packet.bus_id, sizeof packet.bus_id, "../../etc:a:b");
  for (char& c : packet.why_no_dmabuf) c = '\n';
  trainer_->Send(packet);
  ASSERT_EQ(trainer_->Receive(), local::PacketKind::kDeviceArenaAdded);
  EXPECT_EQ(arenas_[0].bus_id, "");
  EXPECT_EQ(arenas_[0].why_no_dmabuf, std::string(local::kWhyBytes, '?'));
}

TEST_F(SessionsDeviceTest, TooMuchIsRefused) {
  trainer_->Send(Packet(local::DeviceArenaKind::kTensors, limits::kMaxDeviceArenaBytes + 1));
  EXPECT_NE(trainer_->ReceiveRefusal(), "");
  trainer_->Send(Packet(local::DeviceArenaKind::kTensors, 0));
  EXPECT_NE(trainer_->ReceiveRefusal(), "");
  for (size_t i = 0; i < limits::kMaxDeviceArenas; ++i) {
    trainer_->Send(Packet(local::DeviceArenaKind::kTensors, 4096));
    ASSERT_EQ(trainer_->Receive(), local::PacketKind::kDeviceArenaAdded);
  }
  trainer_->Send(Packet(local::DeviceArenaKind::kTensors, 4096));
  EXPECT_NE(trainer_->ReceiveRefusal(), "");
  EXPECT_TRUE(gone_.empty());
}

TEST_F(SessionsDeviceTest, AnswersAreTakenOnce) {
  local::PeerArena peer;
  peer.local_rank = 3;
  peer.arena = 7;
  sessions_->SendPeerArena(0, peer);
  ASSERT_EQ(trainer_->Receive(), local::PacketKind::kPeerArena);
  const UniqueFd fd(eventfd(0, EFD_CLOEXEC));
  sessions_->SendHostScratch(0, 4096, fd.get());
  ASSERT_EQ(trainer_->Receive(), local::PacketKind::kHostScratch);
  local::HostScratchMapped mapped;
  mapped.code = static_cast<uint32_t>(local::ResultCode::kResourceExhausted);
  local::PutText("no\tmemory", mapped.why_not);
  trainer_->Send(mapped);
  local::PeerArenaOpened opened;
  opened.local_rank = 3;
  opened.arena = 7;
  trainer_->Send(opened);
  TurnUntil([this] { return said_.size() == 2; });
  EXPECT_EQ(said_, (std::vector<std::string>{"mapped no?memory", "opened 3.7 "}));
  trainer_->Send(opened);
  ExpectGone("was not asked to open");
  EXPECT_EQ(said_.back(), "ended, its memory stays");
}

TEST_F(SessionsDeviceTest, ATrainerSaysOnlyThatItDoesNotUseItsGpu) {
  local::DeviceUse packet;
  local::PutText("no\tkernels", packet.why_not);
  trainer_->Send(packet);
  TurnUntil([this] { return !said_.empty(); });
  EXPECT_EQ(said_, (std::vector<std::string>{"no use: no?kernels"}));
  packet.use = 1;
  trainer_->Send(packet);
  ExpectGone("that its GPU is used");
}

TEST_F(SessionsDeviceTest, ThatAGpuIsNotUsedBeforeTheEpochEndsTheSession) {
  sessions_->Release(0);
  Attach();
  trainer_->Send(local::DeviceUse{});
  ExpectGone("a use of its GPU before the epoch");
}

TEST_F(SessionsDeviceTest, OfASessionThatLeftNoMemoryStays) {
  sessions_->Release(0);
  EXPECT_EQ(said_, (std::vector<std::string>{"ended"}));
}

TEST_F(SessionsDeviceTest, AMappingThatNobodyAskedForEndsTheSession) {
  trainer_->Send(local::HostScratchMapped{});
  ExpectGone("was not asked to map");
}

TEST_F(SessionsDeviceTest, ADescriptorOfNoScratchEndsTheSession) {
  const UniqueFd fd(eventfd(0, EFD_CLOEXEC));
  const local::GrowArena grow;
  const int fds[] = {fd.get()};
  trainer_->SendWithFds(&grow, sizeof grow, fds);
  ExpectGone("a descriptor with a packet that has none");
}

TEST_F(SessionsDeviceTest, MoreThanADmabufEndsTheSession) {
  const UniqueFd fd(eventfd(0, EFD_CLOEXEC));
  const auto packet = Packet(local::DeviceArenaKind::kScratch);
  const int fds[] = {fd.get(), fd.get()};
  trainer_->SendWithFds(&packet, sizeof packet, fds);
  ExpectGone("more than one descriptor");
}

// A close can block: a socket's that lingers, a file's of a FUSE mount.
TEST_F(SessionsDeviceTest, NoDescriptorOfATrainersIsClosedInTheLoop) {
  executor_->Hold();
  WatchedFd dmabuf, wrong, unread;
  const auto packet = Packet(local::DeviceArenaKind::kScratch);
  const int one[] = {dmabuf.far.get()};
  trainer_->SendWithFds(&packet, sizeof packet, one);
  ASSERT_EQ(trainer_->Receive(), local::PacketKind::kDeviceArenaAdded);
  arenas_.clear();
  const local::GrowArena grow;
  const std::vector<int> many(253, wrong.far.get());
  trainer_->SendWithFds(&grow, sizeof grow, many);
  const int last[] = {unread.far.get()};
  trainer_->SendWithFds(&grow, sizeof grow, last);
  for (WatchedFd* watched : {&dmabuf, &wrong, &unread}) watched->far.Reset();
  ExpectGone("a descriptor with a packet that has none");
  EXPECT_EQ(trainer_->Receive(), std::nullopt) << "it sees the end at once";
  EXPECT_FALSE(dmabuf.IsClosed());
  EXPECT_FALSE(wrong.IsClosed());
  EXPECT_FALSE(unread.IsClosed());
  executor_->LetGo();
  EXPECT_TRUE(dmabuf.IsClosed());
  EXPECT_TRUE(wrong.IsClosed());
  EXPECT_TRUE(unread.IsClosed());
}

// Else a slow trainer's answer about an arena of the session before would count for one
// of the same number in this one.
TEST_F(SessionsDeviceTest, AnArenaOfAGpuBeforeTheEpochEndsTheSession) {
  sessions_->Release(0);
  Attach();
  trainer_->Send(Packet(local::DeviceArenaKind::kTensors));
  ExpectGone("a device arena before the epoch");
}

// As many as all other trainers of a big host may have.
TEST_F(SessionsDeviceTest, OthersArenasDoNotFillTheSocketOfATrainerThatIsBusy) {
  constexpr uint32_t kArenas = 15 * limits::kMaxDeviceArenas;
  local::PeerArena peer;
  for (peer.arena = 0; peer.arena < kArenas; ++peer.arena) sessions_->SendPeerArena(0, peer);
  sessions_->SendDeviceUse(0, false, "why");
  ASSERT_TRUE(gone_.empty()) << gone_[0];
  for (uint32_t arena = 0; arena < kArenas; ++arena) {
    auto kind = trainer_->Receive();
    if (kind == local::PacketKind::kDeviceUse) kind = trainer_->Receive();
    ASSERT_EQ(kind, local::PacketKind::kPeerArena);
    ASSERT_EQ(trainer_->packet<local::PeerArena>().arena, arena);
    local::PeerArenaOpened opened;
    opened.arena = arena;
    trainer_->Send(opened);
  }
  TurnUntil([this] { return said_.size() == kArenas; });
}

TEST_F(SessionsDeviceTest, CommandsAreSeenAndTheirAnswersWakeTheWorker) {
  sessions_->SendCommand(0, local::CommandSlot{}, {});
  sessions_->Publish();
  EXPECT_EQ(trainer_->header().command_head.load(), 1u);
  EXPECT_FALSE(sessions_->PrepareToSleep());
  local::DoneSlot done;
  done.id = 1;
  std::memcpy(trainer_->queues() + local::DoneOffset(), &done, sizeof done);
  trainer_->header().done_head.store(1);
  trainer_->WakeWorker();
  EXPECT_TRUE(sessions_->PrepareToSleep()) << "it looks again";
  sessions_->WokenUp();
  TurnUntil([this] { return !said_.empty(); });
  EXPECT_EQ(said_[0], "done 1");
  trainer_->header().done_head.store(2);
  ExpectGone("an answer to command");
}

}  // namespace
}  // namespace reigen::worker
