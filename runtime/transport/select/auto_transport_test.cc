// Goal: RDMA is taken where both ends can, and what is taken else is said.
// Method: TCP over loopback beside RDMA over verbs in memory.
#include "runtime/transport/select/auto_transport.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "runtime/transport/conformance/conformance.h"
#include "runtime/transport/conformance/wait.h"
#include "runtime/transport/rdma/fake/fake_fabric.h"
#include "runtime/transport/rdma/rdma_transport.h"
#include "runtime/transport/rdma/testing/fake_gpu_memory.h"
#include "runtime/transport/tcp/tcp_transport.h"

namespace reigen::transport {
namespace {

constexpr const char* kNames[] = {"anna", "bert"};

StatusOr<std::unique_ptr<Transport>> MakeTcp(int host) {
  TcpOptions options;
  options.job = "job";
  options.secret = "secret";
  options.host = host;
  options.name = kNames[host];
  options.bind_addresses = {"127.0.0.1"};
  REIGEN_ASSIGN_OR_RETURN(auto transport, TcpTransport::Create(options));
  return std::unique_ptr<Transport>(std::move(transport));
}

StatusOr<std::unique_ptr<Transport>> MakeRdma(int host, rdma::FakeFabric& fabric,
                                              const rdma::Wish& wish = {}) {
  rdma::RdmaOptions options;
  options.job = "job";
  options.secret = "secret";
  options.host = host;
  options.name = kNames[host];
  options.bind_addresses = {"127.0.0.1"};
  options.wish = wish;
  REIGEN_ASSIGN_OR_RETURN(auto transport,
                          rdma::RdmaTransport::Create(options, fabric.VerbsOf(host)));
  return std::unique_ptr<Transport>(std::move(transport));
}

StatusOr<std::unique_ptr<Transport>> Select(TransportMode mode, int host,
                                            rdma::FakeFabric& fabric,
                                            std::vector<Status>* without_rdma = nullptr) {
  return SelectTransport(
      mode, kNames[host], [&] { return MakeTcp(host); }, [&] { return MakeRdma(host, fabric); },
      [=](const Status& why) {
        if (without_rdma != nullptr) without_rdma->push_back(why);
      });
}

class AutoFabric : public Fabric {
 public:
  // `infiniband1`: of host 1, whose device is RoCE otherwise, as that of host 0.
  AutoFabric(bool device0, bool device1, bool infiniband1 = false) {
    const bool devices[2] = {device0, device1};
    for (int host : {0, 1}) {
      const std::string number = std::to_string(host + 1);
      if (devices[host]) {
        auto& device = fabric_.AddDevice(host, "fake" + number, "10.0.0." + number);
        if (host == 1 && infiniband1) {
          device.info.ports[0].layer = rdma::LinkLayer::kInfiniBand;
        }
      }
      hosts_[host] = std::move(Select(TransportMode::kAuto, host, fabric_)).value();
      addresses_[host] = hosts_[host]->addresses();
    }
  }
  ~AutoFabric() override {
    for (auto& host : hosts_) host.reset();
    EXPECT_EQ(fabric_.registrations(), 0u);
  }
  Transport& transport(int host) override { return *hosts_[host]; }
  Peer peer(int host) override { return {host, kNames[host], addresses_[host]}; }
  void Step() override {
    WaitAndProgress({hosts_[0].get(), hosts_[1].get()});
  }
  void KillHost(int host) override { hosts_[host].reset(); }
  rdma::FakeFabric& fabric() { return fabric_; }

 private:
  rdma::FakeFabric fabric_;
  std::unique_ptr<Transport> hosts_[2];
  std::vector<std::string> addresses_[2];
};

INSTANTIATE_TEST_SUITE_P(
    Auto, LinkConformance,
    testing::Values(FabricCase{"both", [] { return std::make_unique<AutoFabric>(true, true); }},
                    FabricCase{"one_end", [] { return std::make_unique<AutoFabric>(true, false); }}),
    FabricName);

size_t QueuePairsOfALink(bool device0, bool device1, bool infiniband1 = false) {
  AutoFabric pair(device0, device1, infiniband1);
  const auto a = pair.transport(0).Connect(pair.peer(1));
  const auto b = pair.transport(1).Connect(pair.peer(0));
  std::byte byte{1};
  EXPECT_TRUE(a->PostSend({&byte, 1}, {}, 1).ok());
  EXPECT_TRUE(b->PostRecv({&byte, 1}, {}, 1).ok());
  Completion done;
  for (int i = 0; i < 3000 && b->Poll({&done, 1}) == 0; ++i) pair.Step();
  EXPECT_EQ(done.cookie, 1u);
  return pair.fabric().queue_pairs();
}

TEST(AutoTransportTest, RdmaIsTakenIfBothEndsHaveIt) {
  EXPECT_GT(QueuePairsOfALink(true, true), 0u);
  EXPECT_EQ(QueuePairsOfALink(true, false), 0u);
  EXPECT_EQ(QueuePairsOfALink(false, true), 0u);
  EXPECT_EQ(QueuePairsOfALink(false, false), 0u);
}

// A cluster whose parts have different networks.
TEST(AutoTransportTest, EndsWhosePortsCannotTalkTakeTcpAndSayWhy) {
  EXPECT_EQ(QueuePairsOfALink(true, true, /*infiniband1=*/true), 0u);
  AutoFabric pair(true, true, /*infiniband1=*/true);
  const Status takes = pair.transport(0).TakesDeviceMemory(pair.peer(1));
  EXPECT_EQ(takes.code(), StatusCode::kUnimplemented);
  EXPECT_NE(takes.ToString().find("anna speaks RoCE v2 over IPv4, bert InfiniBand with PKey 0xffff"),
            std::string::npos)
      << takes.ToString();
}

// Their packets would be dropped without a word.
TEST(AutoTransportTest, EndsInDifferentPartitionsTakeTcpAndSayBothPkeys) {
  rdma::FakeFabric fabric;
  std::unique_ptr<Transport> hosts[2];
  for (int host : {0, 1}) {
    auto& device = fabric.AddDevice(host, "fake" + std::to_string(host), "10.0.0.1");
    device.info.ports[0].layer = rdma::LinkLayer::kInfiniBand;
    device.info.ports[0].pkeys = {static_cast<uint16_t>(0x8001 + host)};
    hosts[host] = std::move(Select(TransportMode::kAuto, host, fabric)).value();
  }
  const Status takes = hosts[0]->TakesDeviceMemory({1, "bert", hosts[1]->addresses()});
  EXPECT_EQ(takes.code(), StatusCode::kUnimplemented);
  EXPECT_NE(takes.ToString().find("anna speaks InfiniBand with PKey 0x8001, bert InfiniBand with "
                                  "PKey 0x8002 (ports talk inside one partition"),
            std::string::npos)
      << takes.ToString();
}

TEST(AutoTransportTest, WithoutDevicesAutoIsTcpAndRdmaRefuses) {
  rdma::FakeFabric fabric;
  std::vector<Status> why;
  const auto automatic = Select(TransportMode::kAuto, 0, fabric, &why);
  ASSERT_TRUE(automatic.ok());
  ASSERT_EQ(why.size(), 1u);
  EXPECT_NE(why[0].ToString().find("no RDMA device"), std::string::npos);
  EXPECT_STREQ((*automatic)->name(), "tcp");
  const Status refused = Select(TransportMode::kRdma, 0, fabric).status();
  EXPECT_EQ(refused.code(), StatusCode::kNotFound);
  EXPECT_NE(refused.ToString().find("anna"), std::string::npos);
  EXPECT_NE(refused.ToString().find("no RDMA device"), std::string::npos);
  fabric.AddDevice(0, "fake", "10.0.0.1");
  EXPECT_STREQ((*Select(TransportMode::kTcp, 0, fabric))->name(), "tcp");
  EXPECT_STREQ((*Select(TransportMode::kRdma, 0, fabric))->name(), "rdma");
  EXPECT_STREQ((*Select(TransportMode::kAuto, 0, fabric))->name(), "auto");
}

// C45: a wish is a wish, whether or not there would be TCP.
TEST(AutoTransportTest, WhatWasAskedForAndCannotBeHadIsRefused) {
  rdma::FakeFabric fabric;
  fabric.AddDevice(0, "fake", "10.0.0.1").info.ports[0].active_mtu_bytes = 1024;
  rdma::Wish mtu, device, gid, pkey;
  mtu.mtu_bytes = 2048;
  device.devices = {"mlx5_7"};
  gid.gid_index = 9;
  pkey.pkey = 0x8123;
  for (const rdma::Wish& wish : {mtu, device, gid, pkey}) {
    const auto made = SelectTransport(
        TransportMode::kAuto, "anna", [] { return MakeTcp(0); },
        [&] { return MakeRdma(0, fabric, wish); },
        [](const Status& why) { ADD_FAILURE() << "it goes over TCP: " << why.ToString(); });
    EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(made.status().ToString().find("RDMA of anna: "), std::string::npos)
        << made.status().ToString();
  }
}

// C45: a cable that is out is not somebody's mistake.
TEST(AutoTransportTest, ADeviceAskedForWhosePortIsDownMakesItTcp) {
  rdma::FakeFabric fabric;
  fabric.AddDevice(0, "fake", "10.0.0.1").info.ports[0].active = false;
  rdma::Wish wish;
  wish.devices = {"fake"};
  std::vector<Status> why;
  const auto made = SelectTransport(
      TransportMode::kAuto, "anna", [] { return MakeTcp(0); },
      [&] { return MakeRdma(0, fabric, wish); },
      [&](const Status& status) { why.push_back(status); });
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_STREQ((*made)->name(), "tcp");
  ASSERT_EQ(why.size(), 1u);
  EXPECT_NE(why[0].ToString().find("RDMA device fake cannot be used: fake:1 is not active"),
            std::string::npos)
      << why[0].ToString();
}

// C43
TEST(AutoTransportTest, MemoryThatCannotBeLockedMakesItTcp) {
  rdma::FakeFabric fabric;
  fabric.AddDevice(0, "fake", "10.0.0.1").locked_limit = 64 << 10;
  std::vector<Status> why;
  const auto transport = std::move(Select(TransportMode::kAuto, 0, fabric, &why)).value();
  EXPECT_EQ(transport->addresses().size(), 3u) << "of both, and the kind of RDMA";
  std::vector<std::byte> scratch(1 << 20);
  const auto region = transport->Register(scratch);
  ASSERT_TRUE(region.ok()) << region.status().ToString();
  EXPECT_STREQ(transport->name(), "tcp");
  ASSERT_EQ(why.size(), 1u);
  EXPECT_EQ(why[0].code(), StatusCode::kResourceExhausted);
  ASSERT_EQ(transport->addresses().size(), 1u);
  EXPECT_EQ(transport->addresses()[0].substr(0, 4), "tcp:");
}

// C43, the limit hit later: peers count on RDMA by then, so it stays; the caller has what
// is registered already.
TEST(AutoTransportTest, MemoryThatCannotBeLockedLaterIsAnErrorAndTheLinkGoesOn) {
  AutoFabric pair(true, true);
  std::vector<std::byte> memory[2] = {std::vector<std::byte>(100000, std::byte{1}),
                                      std::vector<std::byte>(100000)};
  std::unique_ptr<Region> regions[2];
  std::unique_ptr<Link> links[2];
  for (int host : {0, 1}) {
    regions[host] = std::move(pair.transport(host).Register(memory[host])).value();
    links[host] = pair.transport(host).Connect(pair.peer(1 - host));
  }
  const auto exchange = [&](uint64_t id) {
    memory[1].assign(memory[1].size(), std::byte{0});
    const Tag tag = {.collective = {}, .step = static_cast<uint32_t>(id)};
    EXPECT_TRUE(links[0]->PostSend(memory[0], tag, id).ok());
    EXPECT_TRUE(links[1]->PostRecv(memory[1], tag, id).ok());
    Completion sent, received;
    bool ended[2] = {false, false};
    for (int i = 0; i < 3000 && !(ended[0] && ended[1]); ++i) {
      pair.Step();
      ended[0] = ended[0] || links[0]->Poll({&sent, 1}) == 1;
      ended[1] = ended[1] || links[1]->Poll({&received, 1}) == 1;
    }
    EXPECT_EQ(received.cookie, id);
    EXPECT_EQ(received.result, OpResult::kOk);
    EXPECT_EQ(memory[0], memory[1]);
  };
  exchange(1);
  pair.fabric().device("fake1").registers_until_full = 0;
  std::vector<std::byte> more(1 << 20);
  const Status late = pair.transport(0).Register(more).status();
  EXPECT_EQ(late.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(late.ToString().find("ibv_reg_mr"), std::string::npos) << late.ToString();
  EXPECT_STREQ(pair.transport(0).name(), "auto");
  exchange(2);
  for (int host : {0, 1}) {
    links[host].reset();
    regions[host].reset();
  }
}

TEST(AutoTransportTest, LinksOverRdmaTakeMemoryOfAGpuOthersSayWhyNot) {
  for (const bool there : {true, false}) {
    AutoFabric pair(true, there);
    pair.fabric().device("fake1").dmabuf = true;
    Transport& here = pair.transport(0);
    EXPECT_EQ(here.devices(), std::vector<std::string>{"fake1"});
    const Status takes = here.TakesDeviceMemory(pair.peer(1));
    EXPECT_EQ(takes.code(), there ? StatusCode::kOk : StatusCode::kUnimplemented);
    if (!there) {
      EXPECT_NE(takes.ToString().find("bert has no RDMA"), std::string::npos);
    }
    const rdma::FakeGpuMemory gpu(10000);
    EXPECT_TRUE(here.RegisterDevice(gpu.device()).ok());
    // A refusal is no reason to give up RDMA.
    pair.fabric().device("fake1").dmabuf_error = EINVAL;
    EXPECT_EQ(here.RegisterDevice(gpu.device()).status().code(), StatusCode::kInvalidArgument);
    EXPECT_STREQ(here.name(), "auto");
  }
}

TEST(AutoTransportTest, WithoutRdmaNoMemoryOfAGpuIsTaken) {
  rdma::FakeFabric fabric;
  fabric.AddDevice(0, "fake", "10.0.0.1").locked_limit = 64 << 10;
  const auto transport = std::move(Select(TransportMode::kAuto, 0, fabric)).value();
  std::vector<std::byte> scratch(1 << 20);
  const auto region = transport->Register(scratch);
  ASSERT_STREQ(transport->name(), "tcp");
  const rdma::FakeGpuMemory gpu(10000);
  const Status registered = transport->RegisterDevice(gpu.device()).status();
  const Status takes = transport->TakesDeviceMemory({1, "bert", {"rdma:10.0.0.2:4000"}});
  for (const Status& status : {registered, takes}) {
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
    EXPECT_NE(status.ToString().find("ibv_reg_mr"), std::string::npos) << status.ToString();
  }
  EXPECT_TRUE(transport->devices().empty());
  const auto tcp = std::move(Select(TransportMode::kTcp, 0, fabric)).value();
  EXPECT_EQ(tcp->RegisterDevice(gpu.device()).status().code(), StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace reigen::transport
