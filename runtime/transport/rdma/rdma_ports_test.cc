// Goal: a link uses what ports both ends have, and no more than they hold.
// Method: two hosts over the fake verbs whose ports differ.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/link.h"
#include "runtime/transport/rdma/fake/fake_fabric.h"
#include "runtime/transport/rdma/gid.h"
#include "runtime/transport/rdma/rdma_limits.h"
#include "runtime/transport/rdma/rdma_transport.h"
#include "runtime/transport/rdma/testing/fake_gpu_memory.h"
#include "runtime/transport/rdma/testing/rdma_pair.h"

namespace reigen::transport::rdma {
namespace {

class RdmaPortsTest : public testing::Test {
 protected:
  // "mlx5_<i>", InfiniBand, of the host's own subnet manager.
  FakeDeviceState& AddInfiniBand(int host, int i) {
    FakeDeviceState& device = fabric_.AddDevice(host, Name(i), "10.0.0.1");
    device.info.ports[0].layer = LinkLayer::kInfiniBand;
    device.info.ports[0].gids = {{0, GidOf(host, i), GidType::kInfiniBand}};
    return device;
  }
  static std::string Name(int i) { return "mlx5_" + std::to_string(i); }
  static Gid GidOf(int host, int i) {
    return *GidOfAddress("fe80::" + std::to_string(host + 1) + ":" + std::to_string(i + 1));
  }
  void Create(int channels = 2) {
    for (int host : {0, 1}) {
      RdmaOptions options;
      options.bind_addresses = {"127.0.0.1"};
      options.channels = channels;
      pair_.Create(host, options, fabric_.VerbsOf(host));
    }
  }
  void Connect() {
    for (int host : {0, 1}) {
      links_[host] = pair_.transport(host).Connect(pair_.peer(1 - host));
    }
  }
  // A message that all queues carry a part of.
  void ExpectExchange() {
    std::vector<std::byte> memory[2] = {std::vector<std::byte>(kBytes, std::byte{7}),
                                        std::vector<std::byte>(kBytes)};
    std::unique_ptr<Region> regions[2];
    for (int host : {0, 1}) {
      regions[host] = std::move(pair_.transport(host).Register(memory[host])).value();
    }
    ASSERT_TRUE(links_[1]->PostRecv(memory[1], {}, 1).ok());
    ASSERT_TRUE(links_[0]->PostSend(memory[0], {}, 1).ok());
    size_t ended = 0;
    StepUntil([&] {
      for (int host : {0, 1}) {
        Completion out;
        if (links_[host]->Poll({&out, 1}) == 0) continue;
        EXPECT_EQ(out.result, OpResult::kOk) << links_[host]->error().ToString();
        ++ended;
      }
      return ended == 2;
    });
    EXPECT_EQ(ended, 2u);
    EXPECT_EQ(memory[0], memory[1]);
  }
  bool StepUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 3000; ++i) {
      if (done()) return true;
      pair_.Step();
    }
    return false;
  }
  // How many queues of host 0 go from the one to the other.
  std::map<std::pair<std::string, std::string>, int> Paths(int devices) {
    std::map<std::pair<std::string, std::string>, int> paths;
    for (int i = 0; i < devices; ++i) {
      for (const PathAttributes& path : fabric_.device(0, Name(i)).paths) {
        ++paths[{Name(i), ToString(path.remote_gid)}];
      }
    }
    return paths;
  }
  void TearDown() override {
    for (int host : {0, 1}) links_[host].reset();
    for (int host : {0, 1}) pair_.KillHost(host);
    EXPECT_EQ(fabric_.queue_pairs(), 0u);
    EXPECT_EQ(fabric_.registrations(), 0u);
  }

  static constexpr size_t kBytes = 1 << 20;
  FakeFabric fabric_;
  RdmaPair pair_;
  std::unique_ptr<Link> links_[2];
};

// Each of them may be of a network of its own.
TEST_F(RdmaPortsTest, APortThatIsDownAtOneEndLeavesTheOthersWithTheirLikes) {
  for (int host : {0, 1}) {
    for (int i = 0; i < 4; ++i) AddInfiniBand(host, i).info.ports[0].active = i != host;
  }
  Create();
  Connect();
  testing::internal::CaptureStdout();  // where the log goes in a test
  ExpectExchange();
  const std::string log = testing::internal::GetCapturedStdout();
  EXPECT_EQ(Paths(4), (std::map<std::pair<std::string, std::string>, int>{
                          {{"mlx5_2", ToString(GidOf(1, 2))}, 2},  // one is for control
                          {{"mlx5_3", ToString(GidOf(1, 3))}, 1}}));
  EXPECT_NE(log.find("mlx5_0:1 is not used: it has no like there"), std::string::npos) << log;
  EXPECT_NE(log.find("mlx5_1:1 is not used: it has no like there"), std::string::npos) << log;
}

// A virtual machine's port; only one end demands it.
TEST_F(RdmaPortsTest, PacketsAreRoutedByGidWhereAPortDemandsIt) {
  for (int host : {0, 1}) AddInfiniBand(host, 0).info.ports[0].global_only = host == 1;
  Create();
  Connect();
  ExpectExchange();
  for (int host : {0, 1}) {
    for (const PathAttributes& path : fabric_.device(host, Name(0)).paths) {
      EXPECT_TRUE(path.global) << host;
      EXPECT_EQ(path.remote_gid, GidOf(1 - host, 0));
    }
  }
}

TEST_F(RdmaPortsTest, PortsOfOneSubnetAreJoinedInWhateverOrderTheyAre) {
  for (int host : {0, 1}) {
    for (int i : {0, 1}) {
      Gid gid = GidOf(host, i);
      gid.bytes[7] = static_cast<uint8_t>(1 + (host + i) % 2);
      AddInfiniBand(host, i).info.ports[0].gids[0].gid = gid;
    }
  }
  Create();
  EXPECT_EQ(pair_.transport(0).addresses().back(),
            "rdma-kind:InfiniBand of subnet fe80:0:0:2:: with PKey 0xffff");
  Connect();
  ExpectExchange();
  for (int i : {0, 1}) {
    for (const PathAttributes& path : fabric_.device(0, Name(i)).paths) {
      EXPECT_EQ(path.remote_gid.bytes[7], i + 1);
      EXPECT_FALSE(path.global);
    }
  }
}

// Before kinds are told, so that it is no link that ends.
TEST_F(RdmaPortsTest, ADeviceThatCannotMakeALinksQueuesIsNotCountedOn) {
  fabric_.AddDevice(0, "bad", "10.0.0.1").next_queue_pair_status =
      Internal("ibv_create_qp: Operation not supported");
  fabric_.AddDevice(0, "good", "10.1.0.1");
  const auto make = [&] {
    RdmaOptions options;
    options.job = "job";
    options.secret = "secret";
    options.bind_addresses = {"127.0.0.1"};
    return RdmaTransport::Create(options, fabric_.VerbsOf(0));
  };
  testing::internal::CaptureStdout();  // where the log goes in a test
  {
    const auto transport = make();
    ASSERT_TRUE(transport.ok()) << transport.status().ToString();
    EXPECT_EQ((*transport)->devices(), std::vector<std::string>{"good"});
  }
  const std::string log = testing::internal::GetCapturedStdout();
  EXPECT_NE(log.find("RDMA device bad cannot make the queues of a link: ibv_create_qp: Operation "
                     "not supported; links do without it"),
            std::string::npos)
      << log;
  for (const char* name : {"bad", "good"}) {
    fabric_.device(0, name).next_completion_queue_status = Internal("ibv_create_cq: no");
  }
  const Status none = make().status();
  EXPECT_EQ(none.code(), StatusCode::kFailedPrecondition) << "auto: TCP";
  EXPECT_NE(none.ToString().find("bad cannot make the queues"), std::string::npos);
  EXPECT_NE(none.ToString().find("good cannot make the queues"), std::string::npos);
  EXPECT_EQ(fabric_.queue_pairs(), 0u);
}

// The library lists those of EFA and iWARP, too.
TEST_F(RdmaPortsTest, ADeviceOfAnotherProtocolIsSaidInItsOwnWords) {
  fabric_.AddDevice(0, "efa_0", "10.0.0.1").open_status = FailedPrecondition("it speaks EFA");
  RdmaOptions options;
  options.secret = "secret";
  options.bind_addresses = {"127.0.0.1"};
  const Status status = RdmaTransport::Create(options, fabric_.VerbsOf(0)).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Message(status), "no RDMA device can be used: RDMA device efa_0: it speaks EFA");
}

TEST_F(RdmaPortsTest, OneOfTheDevicesAskedForThatIsDownLeavesTheOthersWithTheirLikes) {
  for (int host : {0, 1}) {
    for (int i = 0; i < 3; ++i) AddInfiniBand(host, i).info.ports[0].active = host == 1 || i != 0;
  }
  RdmaOptions options;
  options.wish.devices = {Name(0), Name(1), Name(2)};
  options.bind_addresses = {"127.0.0.1"};
  testing::internal::CaptureStdout();
  for (int host : {0, 1}) pair_.Create(host, options, fabric_.VerbsOf(host));
  const std::string log = testing::internal::GetCapturedStdout();
  EXPECT_NE(log.find("RDMA device mlx5_0 cannot be used: mlx5_0:1 is not active"),
            std::string::npos)
      << log;
  Connect();
  ExpectExchange();
  EXPECT_EQ(Paths(3), (std::map<std::pair<std::string, std::string>, int>{
                          {{"mlx5_1", ToString(GidOf(1, 1))}, 2},  // one is for control
                          {{"mlx5_2", ToString(GidOf(1, 2))}, 1}}));
}

TEST_F(RdmaPortsTest, EndsThatCannotTalkSaySoAtBoth) {
  fabric_.AddDevice(0, Name(0), "10.0.0.1");
  fabric_.AddDevice(1, Name(0), "fd00::1");
  Create();
  Connect();
  ASSERT_TRUE(StepUntil([&] { return !links_[0]->error().ok() && !links_[1]->error().ok(); }));
  for (int host : {0, 1}) {
    const std::string text = links_[host]->error().ToString();
    for (const char* part : {"anna", "bert", "RoCE v2 over IPv4", "RoCE v2 over IPv6"}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
}

TEST_F(RdmaPortsTest, EndsInDifferentPartitionsSayBothPkeys) {
  AddInfiniBand(0, 0).info.ports[0].pkeys = {0x8001};
  AddInfiniBand(1, 0).info.ports[0].pkeys = {0x7fff, 0x8002, 0xffff};
  Create();
  const std::vector<std::string> told = pair_.transport(0).addresses();
  EXPECT_EQ(told.back(), "rdma-kind:InfiniBand with PKey 0x8001");
  Connect();
  ASSERT_TRUE(StepUntil([&] { return !links_[0]->error().ok() && !links_[1]->error().ok(); }));
  const std::string text = links_[0]->error().ToString();
  for (const char* part : {"no two RDMA ports can talk", "PKey 0x8001", "PKey 0xffff"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  for (int host : {0, 1}) links_[host].reset();
  fabric_.device(1, Name(0)).info.ports[0].pkeys = {0xffff, 0x0001};
  for (int host : {0, 1}) pair_.KillHost(host);
  for (int host : {0, 1}) {
    RdmaOptions options;
    options.bind_addresses = {"127.0.0.1"};
    options.wish.pkey = 0x8001;  // host 1 is a limited member
    pair_.Create(host, options, fabric_.VerbsOf(host));
  }
  Connect();
  ExpectExchange();
}

// Its reads of its own memory would be dropped, and nobody would say why.
TEST_F(RdmaPortsTest, ALimitedMemberOfAPartitionTakesNoMemoryOfGpusAndSaysWhy) {
  for (int host : {0, 1}) {
    FakeDeviceState& device = AddInfiniBand(host, 0);
    device.info.ports[0].pkeys = {0x0001};
    device.dmabuf = true;
  }
  Create();
  const FakeGpuMemory gpu(kBytes);
  const std::string refused = pair_.transport(0).RegisterDevice(gpu.device()).status().ToString();
  for (const char* part : {"mlx5_0", "PKey 0x0001", "limited member", "REIGEN_RDMA_PKEY"}) {
    EXPECT_NE(refused.find(part), std::string::npos) << refused;
  }
}

// Each port has a completion queue of its own, which holds the queues that it has.
TEST_F(RdmaPortsTest, APortHasNoMoreQueuesThanItsCompletionQueueHolds) {
  constexpr uint32_t kThreeQueues = 2 * kControlQueue + 3 * (kDataSends + kDataReceives);
  FakeDeviceState& one = fabric_.AddDevice(0, "one", "10.0.0.1");
  one.info.max_cqes = kThreeQueues;
  for (int i = 0; i < 8; ++i) fabric_.AddDevice(1, Name(i), "10.0." + std::to_string(i) + ".2");
  Create(/*channels=*/15);
  Connect();
  ExpectExchange();
  EXPECT_EQ(one.paths.size(), 1 + 3u);
}

// The other kind's room is of no use.
TEST_F(RdmaPortsTest, RoomOfAPortThatHasNoLikeDoesNotCount) {
  constexpr uint32_t kThreeQueues = 2 * kControlQueue + 3 * (kDataSends + kDataReceives);
  AddInfiniBand(0, 0).info.max_cqes = kThreeQueues;
  fabric_.AddDevice(0, "roce", "10.0.0.1").info.max_cqes = kThreeQueues;
  for (int i = 0; i < 2; ++i) AddInfiniBand(1, i);
  Create(/*channels=*/6);
  Connect();
  ExpectExchange();
  EXPECT_EQ(fabric_.device(0, Name(0)).paths.size(), 1 + 3u);
}

// Locked memory was counted for so many before RDMA was offered.
TEST_F(RdmaPortsTest, ALinkHasNoMoreQueuesThanEitherEndCountedOn) {
  FakeDeviceState& one = fabric_.AddDevice(0, "one", "10.0.0.1");
  for (int i = 0; i < 8; ++i) fabric_.AddDevice(1, Name(i), "10.0." + std::to_string(i) + ".2");
  Create(/*channels=*/2);
  Connect();
  ExpectExchange();
  EXPECT_EQ(one.paths.size(), 1 + 2u) << "QueuesOfALink() of the end with one port";
}

}  // namespace
}  // namespace reigen::transport::rdma
