// A link between two hosts over the fake verbs, with one fault each: for tests of links.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_TESTING_RDMA_LINK_FIXTURE_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_TESTING_RDMA_LINK_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/link.h"
#include "runtime/transport/rdma/fake/fake_fabric.h"
#include "runtime/transport/rdma/testing/rdma_pair.h"

namespace reigen::transport::rdma {

inline Tag MakeTag(uint64_t sequence) {
  return {.collective = {.epoch = 1, .sequence = sequence, .stream = 0}};
}

class RdmaLinkTest : public testing::Test {
 protected:
  void Make(int channels = 2, int devices = 1, const RdmaOptions& options = {}, int ports = 1) {
    pair_ = std::make_unique<FakeRdmaPair>(channels, devices, devices, options, ports);
    memory_[0].assign(kBytes, std::byte{1});
    memory_[1].assign(kBytes, std::byte{0});
    for (int host : {0, 1}) {
      regions_[host] = std::move(pair_->transport(host).Register(memory_[host])).value();
    }
  }
  void Connect() {
    for (int host : {0, 1}) {
      links_[host] = pair_->transport(host).Connect(pair_->peer(1 - host));
    }
  }
  // What switches go by, none of it a default: service and, on each device another one, the
  // default partition's place in the port's table.
  static RdmaOptions MarkedOptions() {
    RdmaOptions options;
    options.service_level = 3;
    options.traffic_class = 106;
    return options;
  }
  void MarkPkeys(int devices) {
    for (int host : {0, 1}) {
      for (int i = 0; i < devices; ++i) {
        std::vector<uint16_t> pkeys(static_cast<size_t>(MarkedPkey(host, i)), 0x8001);
        pkeys.push_back(0xffff);
        FakeDeviceState& state = device(DeviceName(host, i));
        state.info.ports[0].pkeys = pkeys;
        state.pkey_indexes.clear();  // of those that were tried before
      }
    }
  }
  // All queue pairs that the devices have made since.
  void ExpectMarked(int devices, size_t at_least) {
    for (int host : {0, 1}) {
      for (int i = 0; i < devices; ++i) {
        const FakeDeviceState& state = device(DeviceName(host, i));
        EXPECT_GE(state.paths.size(), at_least) << DeviceName(host, i);
        EXPECT_EQ(state.pkey_indexes.size(), state.paths.size());
        for (const uint16_t index : state.pkey_indexes) EXPECT_EQ(index, MarkedPkey(host, i));
        for (const PathAttributes& path : state.paths) {
          EXPECT_EQ(path.service_level, 3) << DeviceName(host, i);
          EXPECT_EQ(path.traffic_class, 106) << DeviceName(host, i);
        }
      }
    }
  }
  static std::string DeviceName(int host, int i) {
    return "fake" + std::to_string(host) + std::to_string(i);
  }
  static int MarkedPkey(int host, int i) { return 1 + 2 * host + i; }
  // A small message has passed each way.
  void ConnectAndUse() {
    Make();
    Connect();
    Exchange();
  }
  void Exchange() {
    for (int host : {0, 1}) {
      ASSERT_TRUE(links_[host]->PostSend(In(host).first(8), MakeTag(next_), next_).ok());
      ASSERT_TRUE(links_[1 - host]->PostRecv(In(1 - host).last(8), MakeTag(next_), next_ + 1).ok());
      next_ += 2;
    }
    StepUntil([&] { return ended_[0].size() >= 2 && ended_[1].size() >= 2; });
    for (int host : {0, 1}) {
      for (const auto& [cookie, result] : ended_[host]) EXPECT_EQ(result, OpResult::kOk);
      ended_[host].clear();
    }
  }
  std::span<std::byte> In(int host) { return memory_[host]; }

  void PostLarge(uint64_t id, size_t bytes = kBytes) {
    ASSERT_TRUE(links_[1]->PostRecv(In(1).first(bytes), MakeTag(id), id).ok());
    ASSERT_TRUE(links_[0]->PostSend(In(0).first(bytes), MakeTag(id), id).ok());
  }

  bool StepUntil(const std::function<bool()>& done, int steps = 3000) {
    for (int i = 0; i < steps; ++i) {
      for (int host : {0, 1}) Poll(host);
      if (done()) return true;
      pair_->Step();
    }
    return false;
  }
  void Poll(int host) {
    Completion out[16];
    while (links_[host] != nullptr) {
      const size_t count = links_[host]->Poll(out);
      for (size_t i = 0; i < count; ++i) {
        EXPECT_TRUE(ended_[host].emplace(out[i].cookie, out[i].result).second) << "ended twice";
      }
      if (count == 0) return;
    }
  }
  // Both ends lose the link; every post is back.
  void ExpectLost(uint64_t id) {
    ASSERT_TRUE(StepUntil([&] { return ended_[0].contains(id) && ended_[1].contains(id); }));
    EXPECT_EQ(ended_[1].at(id), OpResult::kLinkLost);
    for (int host : {0, 1}) EXPECT_FALSE(links_[host]->error().ok());
  }
  void ExpectText(int host, const std::vector<std::string>& parts) {
    const std::string text = links_[host]->error().ToString();
    for (const std::string& part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
    }
  }
  // The next job works.
  void ExpectNewLinkWorks() {
    for (int host : {0, 1}) links_[host].reset();
    for (int host : {0, 1}) ended_[host].clear();
    Connect();
    Exchange();
    for (int host : {0, 1}) EXPECT_TRUE(links_[host]->error().ok());
  }
  FakeDeviceState& device(const std::string& name) { return pair_->fabric().device(name); }

  void TearDown() override {
    for (int host : {0, 1}) links_[host].reset();
    for (int host : {0, 1}) regions_[host].reset();
    pair_.reset();
  }

  static constexpr size_t kBytes = 1 << 20;
  std::vector<std::byte> memory_[2];
  std::unique_ptr<FakeRdmaPair> pair_;
  std::unique_ptr<Region> regions_[2];
  std::unique_ptr<Link> links_[2];
  std::map<uint64_t, OpResult> ended_[2];
  uint64_t next_ = 1000;
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_TESTING_RDMA_LINK_FIXTURE_H_
