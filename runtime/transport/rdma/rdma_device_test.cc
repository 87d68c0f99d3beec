// Goal: memory of a GPU is never touched here, and what was received is there when the
// receive ends; whatever fails, every post ends once and nothing moves afterwards.
// Method: two hosts over the fake verbs; addresses that are posted may not be touched, and
// what a device wrote to a GPU is there only once it has read of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/transport/link_limits.h"
#include "runtime/transport/rdma/rdma_limits.h"
#include "runtime/transport/rdma/testing/fake_gpu_memory.h"
#include "runtime/transport/rdma/testing/rdma_link_fixture.h"
#include "runtime/transport/rdma/words.h"

namespace reigen::transport::rdma {
namespace {

class RdmaDeviceTest : public RdmaLinkTest {
 protected:
  ~RdmaDeviceTest() override { EXPECT_TRUE(gpu_regions_[0] == nullptr && gpu_regions_[1] == nullptr); }

  void MakeWithGpus(int channels = 2, int devices = 1, const RdmaOptions& options = {}) {
    Make(channels, devices, options);
    for (int host : {0, 1}) {
      for (int i = 0; i < devices; ++i) {
        FakeDeviceState& state = device("fake" + std::to_string(host) + std::to_string(i));
        state.dmabuf = state.late = true;
      }
      gpus_[host] = std::make_unique<FakeGpuMemory>(kBytes);
    }
  }
  void RegisterGpu(int host, bool read_back, std::vector<std::string> near = {}) {
    DeviceMemory memory = gpus_[host]->device(read_back);
    memory.near = std::move(near);
    auto region = pair_->transport(host).RegisterDevice(memory);
    ASSERT_TRUE(region.ok()) << region.status().ToString();
    gpu_regions_[host] = std::move(region).value();
    for (size_t i = 0; i < pair_->transport(host).devices().size(); ++i) {  // each has tried
      device("fake" + std::to_string(host) + std::to_string(i)).reads = 0;
    }
  }
  void ConnectGpus(bool read_back = true, int devices = 1) {
    MakeWithGpus(2, devices);
    for (int host : {0, 1}) RegisterGpu(host, read_back);
    Connect();
    Exchange();
  }
  void TearDown() override {
    for (int host : {0, 1}) links_[host].reset();
    for (int host : {0, 1}) gpu_regions_[host].reset();
    RdmaLinkTest::TearDown();
  }

  std::span<std::byte> Gpu(int host) { return gpus_[host]->window(); }
  std::span<std::byte> Seen(int host) { return gpus_[host]->bytes(); }
  void Fill(std::span<std::byte> bytes, uint64_t seed) {
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + seed);
  }
  bool Same(std::span<const std::byte> a, std::span<const std::byte> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  void Send(uint64_t id, std::span<std::byte> from, std::span<std::byte> to) {
    ASSERT_TRUE(links_[1]->PostRecv(to, MakeTag(id), id).ok());
    ASSERT_TRUE(links_[0]->PostSend(from, MakeTag(id), id).ok());
  }
  bool BothEnded(uint64_t id) {
    return StepUntil([&] { return ended_[0].contains(id) && ended_[1].contains(id); });
  }
  void Steps(int count) {
    for (int i = 0; i < count; ++i) {
      pair_->Step();
      for (int host : {0, 1}) Poll(host);
    }
  }

  std::unique_ptr<FakeGpuMemory> gpus_[2];
  std::unique_ptr<Region> gpu_regions_[2];
};

TEST_F(RdmaDeviceTest, WhatWasReceivedIsReadBackByEveryDeviceThatWrote) {
  ConnectGpus(/*read_back=*/true, /*devices=*/2);
  Fill(Seen(0), 1);
  Send(1, Gpu(0), Gpu(1));
  ASSERT_TRUE(BothEnded(1));
  EXPECT_EQ(ended_[1].at(1), OpResult::kOk);
  EXPECT_TRUE(Same(Seen(0), Seen(1)));
  EXPECT_EQ(device("fake10").reads, 1u);
  EXPECT_EQ(device("fake11").reads, 1u);
  EXPECT_EQ(device("fake00").reads + device("fake01").reads, 0u) << "a sender reads nothing back";
}

// What the fake's lateness is there for: this is what a forgotten read-back looks like.
TEST_F(RdmaDeviceTest, MemoryThatNeedsNoneIsNotReadBack) {
  ConnectGpus(/*read_back=*/false);
  const size_t queue_pairs = device("fake10").queue_pairs;
  Fill(Seen(0), 1);
  Send(1, Gpu(0), Gpu(1));
  ASSERT_TRUE(BothEnded(1));
  EXPECT_EQ(ended_[1].at(1), OpResult::kOk);
  EXPECT_FALSE(Same(Seen(0), Seen(1)));
  EXPECT_EQ(device("fake10").reads, 0u);
  EXPECT_EQ(device("fake10").queue_pairs, queue_pairs);
  device("fake10").late = false;
  Send(2, Gpu(0), Gpu(1));
  ASSERT_TRUE(BothEnded(2));
  EXPECT_TRUE(Same(Seen(0), Seen(1)));
}

TEST_F(RdmaDeviceTest, MemoryOfTheHostCostsNoQueuePairAndNoRead) {
  ConnectGpus();
  const size_t queue_pairs = device("fake10").queue_pairs;
  EXPECT_EQ(queue_pairs, 3u) << "control and two for data";
  Fill(In(0), 1);
  Send(1, In(0), In(1));
  Send(2, In(0).first(100), In(1).first(100));
  ASSERT_TRUE(BothEnded(1) && BothEnded(2));
  EXPECT_EQ(device("fake10").queue_pairs, queue_pairs);
  EXPECT_EQ(device("fake10").reads, 0u);
}

// Short ones would travel with control; the message first, and the receive first.
TEST_F(RdmaDeviceTest, ShortMessagesArriveWhicheverEndIsOnAGpu) {
  for (const bool read_back : {true, false}) {
    ConnectGpus(read_back);
    for (const char* name : {"fake00", "fake10"}) device(name).late = read_back;
    uint64_t id = 0;
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{8}, size_t{4095}, kEagerBytes}) {
      for (const auto& [from_gpu, to_gpu] : {std::pair{true, true}, {true, false}, {false, true}}) {
        for (const bool receive_first : {true, false}) {
          ++id;
          Fill(from_gpu ? Seen(0) : In(0), id);
          const auto from = (from_gpu ? Gpu(0) : In(0)).subspan(3, bytes);
          const auto to = (to_gpu ? Gpu(1) : In(1)).subspan(77, bytes);
          const auto receive = [&] {
            ASSERT_TRUE(links_[1]->PostRecv(to, MakeTag(id), id).ok());
          };
          if (receive_first) receive();
          Steps(2);
          ASSERT_TRUE(links_[0]->PostSend(from, MakeTag(id), id).ok());
          Steps(2);
          if (!receive_first) receive();
          ASSERT_TRUE(BothEnded(id)) << bytes;
          EXPECT_EQ(ended_[1].at(id), OpResult::kOk);
          EXPECT_TRUE(Same((from_gpu ? Seen(0) : In(0)).subspan(3, bytes),
                           (to_gpu ? Seen(1) : In(1)).subspan(77, bytes)))
              << bytes << (from_gpu ? " from a GPU" : "") << (to_gpu ? " to a GPU" : "");
        }
      }
    }
    EXPECT_TRUE(links_[0]->error().ok() && links_[1]->error().ok());
    TearDown();
    for (auto& ended : ended_) ended.clear();
  }
}

// More than there are slots for, so that some go against a credit: those are written.
TEST_F(RdmaDeviceTest, ShortMessagesBeyondTheSlotsAreWrittenToAGpu) {
  ConnectGpus();
  Fill(In(0), 5);
  constexpr uint64_t kMessages = kEagerSlots * 5;
  for (uint64_t id = 1; id <= kMessages; ++id) {
    ASSERT_TRUE(links_[0]->PostSend(In(0).subspan(id * 100, 100), MakeTag(id), id).ok());
  }
  Steps(5);
  for (uint64_t id = kMessages; id > 0; --id) {
    ASSERT_TRUE(links_[1]->PostRecv(Gpu(1).subspan(id * 100, 100), MakeTag(id), id).ok());
  }
  ASSERT_TRUE(StepUntil([&] { return ended_[1].size() == kMessages; }));
  EXPECT_TRUE(Same(In(0).subspan(100, kMessages * 100), Seen(1).subspan(100, kMessages * 100)));
}

TEST_F(RdmaDeviceTest, AReceiveEndsAfterItsReadBackAndHoldsUpNoOther) {
  ConnectGpus();
  Fill(Seen(0), 1);
  constexpr uint64_t kMany = 3 * kLoopbackWrs;
  constexpr size_t kEach = 5000;
  pair_->fabric().HoldReads();
  for (uint64_t id = 1; id <= kMany; ++id) {
    Send(id, Gpu(0).subspan(id * kEach, kEach), Gpu(1).subspan(id * kEach, kEach));
  }
  Send(1000, In(0).first(100), Gpu(1).first(100));  // placed
  Send(1001, In(0).first(100), In(1).first(100));
  Send(1002, In(0).last(100000), In(1).last(100000));
  ASSERT_TRUE(BothEnded(1001) && BothEnded(1002));
  ASSERT_TRUE(StepUntil([&] { return ended_[0].size() == kMany + 3; })) << "sends wait for nothing";
  EXPECT_EQ(ended_[1].size(), 2u);
  pair_->fabric().Release();
  ASSERT_TRUE(StepUntil([&] { return ended_[1].size() == kMany + 3; }));
  for (const auto& [id, result] : ended_[1]) EXPECT_EQ(result, OpResult::kOk) << id;
  EXPECT_TRUE(Same(Seen(0).subspan(kEach, kMany * kEach), Seen(1).subspan(kEach, kMany * kEach)));
  EXPECT_EQ(device("fake10").reads, kMany + 1);
}

// A sender that has asked announces its data on the control queue as well.
TEST_F(RdmaDeviceTest, WhatIsAnnouncedIsReadBackByAllThatWrote) {
  ConnectGpus(/*read_back=*/true, /*devices=*/2);
  Fill(Seen(0), 1);
  ASSERT_TRUE(links_[0]->PostSend(Gpu(0), MakeTag(1), 1).ok());
  const Time until = Now() + milliseconds(600);
  StepUntil([&] { return Now() > until; });
  ASSERT_TRUE(links_[1]->PostRecv(Gpu(1), MakeTag(1), 1).ok());
  ASSERT_TRUE(BothEnded(1));
  EXPECT_EQ(ended_[1].at(1), OpResult::kOk);
  EXPECT_TRUE(Same(Seen(0), Seen(1)));
  EXPECT_EQ(device("fake10").reads, 1u);
  EXPECT_EQ(device("fake11").reads, 1u);
}

TEST_F(RdmaDeviceTest, AReadBackThatFailsEndsTheLinkWithWords) {
  for (int i = 1; i < kWorkStatuses; ++i) {
    const auto status = static_cast<WorkStatus>(i);
    ConnectGpus();
    device("fake10").next_read_status = status;
    Send(1, Gpu(0), Gpu(1));
    ASSERT_TRUE(BothEnded(1));
    EXPECT_EQ(ended_[1].at(1), OpResult::kLinkLost);
    ExpectText(1, {Name(status), "read-back", "bert (fake10:1 10.0.0.2) to itself"});
    ASSERT_TRUE(StepUntil([&] { return !links_[0]->error().ok(); }));
    ExpectText(0, {"ended by the peer"});
    ExpectNewLinkWorks();
    TearDown();
    for (auto& ended : ended_) ended.clear();
  }
}

TEST_F(RdmaDeviceTest, AShortMessageThatCannotBePlacedEndsTheLinkWithWords) {
  ConnectGpus();
  ASSERT_TRUE(links_[0]->PostSend(In(0).first(8), MakeTag(1), 1).ok());
  ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(1); }));
  Steps(5);
  device("fake10").next_send_status = WorkStatus::kRemoteAccess;
  ASSERT_TRUE(links_[1]->PostRecv(Gpu(1).first(8), MakeTag(1), 1).ok());
  ASSERT_TRUE(StepUntil([&] { return ended_[1].contains(1); }));
  EXPECT_EQ(ended_[1].at(1), OpResult::kLinkLost);
  ExpectText(1, {"REM_ACCESS_ERR", "a short message into a GPU's memory", "to itself"});
}

TEST_F(RdmaDeviceTest, WithoutAQueuePairForItTheLinkEndsWithWords) {
  ConnectGpus();
  device("fake10").next_queue_pair_status = ResourceExhausted("ibv_create_qp: no room");
  Send(1, Gpu(0), Gpu(1));
  ASSERT_TRUE(BothEnded(1));
  EXPECT_EQ(ended_[1].at(1), OpResult::kLinkLost);
  ExpectText(1, {"no room", "bert (fake10:1 10.0.0.2) to itself"});
  ExpectNewLinkWorks();
}

// R7: whoever has a buffer back may unmap or free it.
TEST_F(RdmaDeviceTest, ClosingFencesWhatIsBeingReadBackOrPlaced) {
  ConnectGpus();
  Fill(Seen(0), 1);
  pair_->fabric().HoldReads();
  Send(1, Gpu(0).first(50000), Gpu(1).first(50000));
  Send(2, In(0).first(8), Gpu(1).last(8));
  ASSERT_TRUE(StepUntil([&] { return ended_[0].size() == 2; }));
  Steps(5);
  EXPECT_TRUE(ended_[1].empty());
  links_[1]->Close();
  ASSERT_TRUE(StepUntil([&] { return ended_[1].size() == 2; }));
  EXPECT_EQ(ended_[1].at(1), OpResult::kCancelled);
  EXPECT_EQ(ended_[1].at(2), OpResult::kCancelled);
  const size_t dropped = pair_->fabric().dropped();
  EXPECT_GT(dropped, 0u);
  pair_->fabric().Release();
  Steps(5);
  EXPECT_EQ(device("fake10").reads, 0u);
}

// The same with a device that never gives back what was posted.
TEST_F(RdmaDeviceTest, ADeafDeviceIsNotWaitedForForEver) {
  ConnectGpus();
  pair_->fabric().HoldReads();
  Send(1, Gpu(0), Gpu(1));
  ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(1); }));
  Steps(5);
  device("fake10").deaf = true;
  links_[1]->Close();
  ASSERT_TRUE(StepUntil([&] { return ended_[1].contains(1); }));
  EXPECT_EQ(ended_[1].at(1), OpResult::kCancelled);
}

TEST_F(RdmaDeviceTest, WhatCameBeforeThePeerClosedCountsOnceItIsReadBack) {
  ConnectGpus();
  Fill(Seen(0), 1);
  pair_->fabric().HoldReads();
  Send(1, Gpu(0).first(50000), Gpu(1).first(50000));
  Send(2, In(0).first(8), Gpu(1).last(8));
  ASSERT_TRUE(StepUntil([&] { return ended_[0].size() == 2; }));
  Steps(5);
  links_[0]->Close();
  ASSERT_TRUE(StepUntil([&] { return !links_[1]->error().ok(); }));
  pair_->fabric().Release();
  ASSERT_TRUE(StepUntil([&] { return ended_[1].size() == 2; }));
  EXPECT_EQ(ended_[1].at(1), OpResult::kOk);
  EXPECT_EQ(ended_[1].at(2), OpResult::kOk);
  EXPECT_TRUE(Same(Seen(0).first(50000), Seen(1).first(50000)));
}

// A trainer dies: its memory stays registered while the peer has a credit for it, and
// while it is read back.
TEST_F(RdmaDeviceTest, MemoryGivenUpStaysRegisteredUntilItsTransferHasEnded) {
  ConnectGpus();
  pair_->fabric().Hold();
  Send(1, Gpu(0), Gpu(1));
  Steps(20);
  const size_t before = device("fake10").registrations;
  gpu_regions_[1].reset();
  pair_->fabric().Release();
  pair_->fabric().HoldReads();
  ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(1); }));
  Steps(5);
  EXPECT_FALSE(ended_[1].contains(1));
  EXPECT_EQ(device("fake10").registrations, before + 1) << "with that of the loopback";
  pair_->fabric().Release();
  ASSERT_TRUE(StepUntil([&] { return ended_[1].contains(1); }));
  EXPECT_EQ(ended_[1].at(1), OpResult::kOk);
  EXPECT_EQ(device("fake10").registrations, before);
}

TEST_F(RdmaDeviceTest, MemoryGivenUpWithCreditsOutStaysRegisteredUntilTheLinkIsClosed) {
  ConnectGpus();
  ASSERT_TRUE(links_[1]->PostRecv(Gpu(1), MakeTag(1), 1).ok());
  Steps(10);
  const size_t before = device("fake10").registrations;
  gpu_regions_[1].reset();
  Steps(10);
  EXPECT_EQ(device("fake10").registrations, before);
  links_[1]->Close();
  ASSERT_TRUE(StepUntil([&] { return ended_[1].contains(1); }));
  EXPECT_EQ(device("fake10").registrations, 1u) << "memory of the host";
}

// What is posted too late is not touched either.
TEST_F(RdmaDeviceTest, APostOfMemoryThatWasGivenUpEndsTheLinkNotTheProcess) {
  for (const size_t bytes : {size_t{8}, size_t{100000}}) {
    ConnectGpus();
    gpu_regions_[1].reset();
    Send(1, In(0).first(bytes), Gpu(1).first(bytes));
    ASSERT_TRUE(StepUntil([&] { return ended_[1].contains(1); }));
    EXPECT_EQ(ended_[1].at(1), OpResult::kLinkLost);
    ExpectText(1, {"not registered"});
    TearDown();
    for (auto& ended : ended_) ended.clear();
  }
}

TEST_F(RdmaDeviceTest, BytesGoByTheDevicesNearToTheMemory) {
  MakeWithGpus(/*channels=*/4, /*devices=*/2);
  RegisterGpu(0, true, {"fake01"});
  RegisterGpu(1, true);
  Connect();
  Exchange();
  Fill(Seen(0), 1);
  Send(1, Gpu(0), Gpu(1));
  ASSERT_TRUE(BothEnded(1));
  EXPECT_EQ(device("fake00").wrote_bytes, 0u);
  EXPECT_EQ(device("fake01").wrote_bytes, kBytes);
  EXPECT_EQ(device("fake10").reads, 0u);
  EXPECT_EQ(device("fake11").reads, 1u);
  EXPECT_TRUE(Same(Seen(0), Seen(1)));
  // The receiver's side counts as much; it is told with the credit.
  gpu_regions_[0].reset();
  gpu_regions_[1].reset();
  RegisterGpu(0, true);
  RegisterGpu(1, true, {"fake10"});
  Send(2, Gpu(0), Gpu(1));
  ASSERT_TRUE(BothEnded(2));
  EXPECT_EQ(device("fake00").wrote_bytes, kBytes);
  // And memory of the host goes by all.
  Send(3, In(0), In(1));
  ASSERT_TRUE(BothEnded(3));
  EXPECT_GT(device("fake00").wrote_bytes, kBytes);
  EXPECT_GT(device("fake01").wrote_bytes, kBytes);
}

// Ports are paired as they are, whichever device is near on either host.
TEST_F(RdmaDeviceTest, WhereNoQueueJoinsTheNearDevicesBytesGoByThoseOfOneEnd) {
  MakeWithGpus(/*channels=*/2, /*devices=*/2);
  RegisterGpu(0, true, {"fake00"});
  RegisterGpu(1, true, {"fake11"});
  Connect();
  Exchange();
  Fill(Seen(0), 1);
  Send(1, Gpu(0), Gpu(1));
  ASSERT_TRUE(BothEnded(1));
  EXPECT_EQ(ended_[1].at(1), OpResult::kOk);
  EXPECT_TRUE(Same(Seen(0), Seen(1)));
}

// People can mend it, so each link says it, once; where near ports are joined there is nothing
// to say, nor for memory of hosts, to which all are near.
TEST_F(RdmaDeviceTest, OnlyWhereNoQueueJoinsTheNearDevicesThereIsAWarning) {
  for (const char* near_there : {"fake11", "fake10"}) {
    const bool far = near_there == std::string("fake11");
    MakeWithGpus(/*channels=*/2, /*devices=*/2);
    RegisterGpu(0, true, {"fake00"});
    RegisterGpu(1, true, {near_there});
    Connect();
    Exchange();
    testing::internal::CaptureStdout();  // where the log goes in a test
    Send(1, In(0), Gpu(1));
    Send(2, Gpu(0), In(1));
    ASSERT_TRUE(BothEnded(1) && BothEnded(2));
    const std::string before = testing::internal::GetCapturedStdout();
    testing::internal::CaptureStdout();
    Send(3, Gpu(0).first(kBytes / 2), Gpu(1).first(kBytes / 2));
    Send(4, Gpu(0).last(kBytes / 2), Gpu(1).last(kBytes / 2));
    ASSERT_TRUE(BothEnded(3) && BothEnded(4));
    const std::string log = testing::internal::GetCapturedStdout();
    const std::string words = "no queue joins a port near to the GPU here";
    EXPECT_EQ(before.find(words), std::string::npos) << before;
    const size_t at = log.find(words);
    EXPECT_EQ(at != std::string::npos, far) << log;
    if (far) {
      EXPECT_EQ(log.find(words, at + 1), std::string::npos) << log;
      for (const char* part : {"[warning]", "anna (fake00:1", "bert (fake10:1", "--rdma-devices"}) {
        EXPECT_NE(log.find(part), std::string::npos) << part << " in: " << log;
      }
    }
    TearDown();
    for (auto& ended : ended_) ended.clear();
  }
}

// A host decides alone whether its GPUs are reached directly: what its devices refuse is
// host memory for the peer, by whichever ports the peer prefers.
TEST_F(RdmaDeviceTest, ARefusalOnOneHostOrBothCostsNoLink) {
  for (const auto& refuse : {std::vector<std::string>{"fake00"}, {"fake00", "fake11"}}) {
    MakeWithGpus(/*channels=*/2, /*devices=*/2);
    for (const std::string& name : refuse) device(name).dmabuf_error = EFAULT;
    std::span<std::byte> memory[2];
    for (int host : {0, 1}) {
      DeviceMemory gpu = gpus_[host]->device();
      gpu.near = {"fake" + std::to_string(host) + std::to_string(1 - host)};
      auto region = pair_->transport(host).RegisterDevice(gpu);
      memory[host] = region.ok() ? Gpu(host) : In(host);
      if (region.ok()) gpu_regions_[host] = std::move(region).value();
    }
    EXPECT_NE(memory[0].data(), Gpu(0).data()) << "the device near to it refuses, or another";
    Connect();
    Exchange();
    Send(1, memory[0], memory[1]);
    ASSERT_TRUE(BothEnded(1));
    EXPECT_EQ(ended_[1].at(1), OpResult::kOk);
    TearDown();
    for (auto& ended : ended_) ended.clear();
  }
}

TEST_F(RdmaDeviceTest, AQueuePairToItselfHasItsPortsPartitionAndTheServiceAskedFor) {
  MakeWithGpus(/*channels=*/2, /*devices=*/1, MarkedOptions());
  RegisterGpu(1, /*read_back=*/true);
  MarkPkeys(1);
  for (int host : {0, 1}) {
    device(DeviceName(host, 0)).paths.clear();
    device(DeviceName(host, 0)).pkey_indexes.clear();
  }
  Connect();
  Exchange();
  const size_t of_link = device("fake10").paths.size();
  ASSERT_TRUE(links_[1]->PostRecv(Gpu(1), MakeTag(1), 1).ok());
  ASSERT_TRUE(links_[0]->PostSend(In(0), MakeTag(1), 1).ok());
  ASSERT_TRUE(BothEnded(1));
  EXPECT_EQ(device("fake10").paths.size(), of_link + 1);
  ExpectMarked(1, of_link);
}

TEST_F(RdmaDeviceTest, AFatalEventOfTheQueuePairToItselfEndsTheLink) {
  ConnectGpus();
  Send(1, Gpu(0), Gpu(1));
  ASSERT_TRUE(BothEnded(1));
  const uint32_t own = device("fake10").paths.back().remote_qp;
  ASSERT_TRUE(links_[1]->PostRecv(Gpu(1), MakeTag(2), 2).ok());
  device("fake10").Raise({.kind = AsyncKind::kQpError, .text = "access error", .qp_number = own});
  ASSERT_TRUE(StepUntil([&] { return ended_[1].contains(2); }));
  ExpectText(1, {"access error"});
}

// Where children do not get what is registered, they would miss what else lies in its pages.
TEST_F(RdmaDeviceTest, WhatALinkRegistersForItselfHasPagesOfItsOwn) {
  ConnectGpus();
  Send(1, Gpu(0), Gpu(1));
  ASSERT_TRUE(BothEnded(1));
  const FakeDeviceState& bert = device("fake10");
  int own = 0;
  for (size_t i = 0; i < bert.accesses.size(); ++i) {
    if (bert.accesses[i] != Access::kLocal) continue;
    ++own;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bert.addresses[i]) % 4096, 0u) << i;
  }
  EXPECT_GE(own, 2) << "control and the queue pair to itself";
}

// Its own receives no events yet, so that the link must not sleep on them.
TEST_F(RdmaDeviceTest, AQueuePairMadeWhileTheOthersAreArmedIsArmedToo) {
  ConnectGpus();
  Fill(Seen(0), 1);
  ASSERT_TRUE(links_[1]->PostRecv(Gpu(1), MakeTag(1), 1).ok());
  Steps(10);
  bool written = false;
  device("fake10").before_arm = [&] {
    ASSERT_TRUE(links_[0]->PostSend(Gpu(0), MakeTag(1), 1).ok());
    pair_->transport(0).Progress(Now());
    written = true;
  };
  pair_->fabric().HoldReads();
  Send(2, In(0).first(8), In(1).first(8));
  ASSERT_TRUE(StepUntil([&] { return written; }));
  const auto awake = pair_->transport(1).NextDeadline();
  EXPECT_TRUE(awake && *awake <= Now()) << "nobody would tell of the read";
  pair_->fabric().Release();
  ASSERT_TRUE(BothEnded(1));
  EXPECT_EQ(ended_[1].at(1), OpResult::kOk);
  EXPECT_TRUE(Same(Seen(0), Seen(1)));
}

// The near port of the receiver is not one of the link's.
TEST_F(RdmaDeviceTest, AShortMessageIsPlacedByADeviceOfTheLink) {
  RdmaOptions options;
  options.connect_deadline = seconds(3);  // the link does without a port for good soon
  MakeWithGpus(/*channels=*/2, /*devices=*/2, options);
  device("fake11").info.ports[0].active = false;
  RegisterGpu(0, true);
  RegisterGpu(1, true, {"fake11"});
  Connect();
  Exchange();
  Fill(In(0), 1);
  ASSERT_TRUE(links_[0]->PostSend(In(0).first(8), MakeTag(1), 1).ok());
  ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(1); }));
  Steps(5);
  pair_->fabric().HoldReads();
  ASSERT_TRUE(links_[1]->PostRecv(Gpu(1).first(8), MakeTag(1), 1).ok());
  Steps(5);
  EXPECT_FALSE(ended_[1].contains(1)) << "it is being placed";
  EXPECT_EQ(device("fake11").queue_pairs, 0u) << "its events are no concern of the link";
  device("fake10").Raise({.kind = AsyncKind::kDeviceFatal, .text = "it is dead"});
  ASSERT_TRUE(StepUntil([&] { return ended_[1].contains(1); }));
  EXPECT_EQ(ended_[1].at(1), OpResult::kLinkLost);
  ExpectText(1, {"it is dead"});
}

// C49
TEST_F(RdmaDeviceTest, RegistrationSaysWhichDeviceRefusesAndWhy) {
  MakeWithGpus(1, 2);
  Transport& transport = pair_->transport(0);
  EXPECT_EQ(transport.devices(), (std::vector<std::string>{"fake00", "fake01"}));
  EXPECT_TRUE(transport.TakesDeviceMemory(pair_->peer(1)).ok());
  device("fake00").dmabuf = false;
  device("fake01").dmabuf_error = EINVAL;
  const Status refused = transport.RegisterDevice(gpus_[0]->device()).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  for (const char* part : {"fake00: ", "Operation not supported", "fake01: ", "Invalid argument"}) {
    EXPECT_NE(refused.ToString().find(part), std::string::npos) << refused.ToString();
  }
  device("fake01").dmabuf = false;
  EXPECT_EQ(transport.RegisterDevice(gpus_[0]->device()).status().code(),
            StatusCode::kUnimplemented);
}

TEST_F(RdmaDeviceTest, WhereOneDeviceRefusesItIsNamedAndSoIsTheRemedy) {
  MakeWithGpus(1, 2);
  device("fake01").dmabuf = false;
  const Status refused = pair_->transport(0).RegisterDevice(gpus_[0]->device()).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnimplemented);
  const std::string text = refused.ToString();
  EXPECT_NE(text.find("fake01: "), std::string::npos) << text;
  EXPECT_EQ(text.find("fake00: "), std::string::npos) << text;
  EXPECT_NE(text.find("Operation not supported; the other RDMA ports take it: --rdma-devices can "
                      "name these alone"),
            std::string::npos)
      << text;
  device("fake00").dmabuf = false;
  EXPECT_EQ(pair_->transport(0).RegisterDevice(gpus_[0]->device()).status().ToString().find(
                "--rdma-devices"),
            std::string::npos);
}

// Registered, and yet not to be reached: known before anything counts on it.
TEST_F(RdmaDeviceTest, ADeviceThatDoesNotReachTheMemoryIsAnError) {
  MakeWithGpus(/*channels=*/4, /*devices=*/2);
  const size_t before = pair_->fabric().registrations();
  device("fake01").next_read_status = WorkStatus::kRemoteAccess;
  EXPECT_FALSE(pair_->transport(0).RegisterDevice(gpus_[0]->device()).ok());
  device("fake00").next_read_status = WorkStatus::kRetryExceeded;
  device("fake01").next_read_status = WorkStatus::kLocalProtection;
  const Status refused = pair_->transport(0).RegisterDevice(gpus_[0]->device()).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  for (const char* part : {"fake00:1: ", "RETRY_EXC_ERR", "fake01:1: ", "LOC_PROT_ERR", "reading"}) {
    EXPECT_NE(refused.ToString().find(part), std::string::npos) << refused.ToString();
  }
  EXPECT_EQ(pair_->fabric().registrations(), before);
}

TEST_F(RdmaDeviceTest, ADeviceThatDoesNotAnswerIsNotWaitedForForEver) {
  MakeWithGpus(1, 2);
  pair_->fabric().HoldReads();
  const Status refused = pair_->transport(0).RegisterDevice(gpus_[0]->device()).status();
  EXPECT_EQ(refused.code(), StatusCode::kDeadlineExceeded) << refused.ToString();
  pair_->fabric().Release();
  const Status again = pair_->transport(0).RegisterDevice(gpus_[0]->device()).status();
  EXPECT_EQ(again.code(), StatusCode::kDeadlineExceeded) << "once is enough";
  EXPECT_EQ(device("fake00").reads, 0u);
}

}  // namespace
}  // namespace reigen::transport::rdma
