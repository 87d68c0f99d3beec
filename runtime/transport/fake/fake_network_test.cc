// Goal: the fake is a transport like the others, and fails when told to.
// Method: the conformance suite under several kinds of weather, then each fault.
#include "runtime/transport/fake/fake_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/transport/conformance/conformance.h"

namespace reigen::transport {
namespace {

class FakeFabric : public Fabric {
 public:
  explicit FakeFabric(const FakeOptions& options) : network_(options) {
    for (int host : {0, 1}) hosts_[host] = network_.AddHost(host, peer(host).name);
  }
  Transport& transport(int host) override { return *hosts_[host]; }
  Peer peer(int host) override { return {host, host == 0 ? "anna" : "bert", {}}; }
  void Step() override {
    const std::optional<Time> next = network_.NextDeadline();
    if (next && *next <= now_ + milliseconds(10)) {
      now_ = std::max(now_, *next);
    } else {
      now_ += milliseconds(10);
    }
    network_.Progress(now_);
  }
  void KillHost(int host) override { network_.KillHost(host); }

  FakeNetwork& network() { return network_; }
  Time now() const { return now_; }

 private:
  FakeNetwork network_;
  std::unique_ptr<Transport> hosts_[2];
  Time now_ = Time{} + seconds(1);
};

FabricCase Case(const std::string& name, const FakeOptions& options) {
  return {name, [options] { return std::make_unique<FakeFabric>(options); }};
}

INSTANTIATE_TEST_SUITE_P(
    Fake, LinkConformance,
    testing::Values(Case("instant", {.channels = 1}), Case("two_channels", {.channels = 2}),
                    Case("slow", {.seed = 3,
                                  .channels = 4,
                                  .min_delay = milliseconds(1),
                                  .max_delay = milliseconds(30),
                                  .detect_after = milliseconds(100)})),
    FabricName);

constexpr Tag kTag = {.collective = {.epoch = 1, .sequence = 1, .stream = 0}};

// Two links with one large transfer between them.
class FakeNetworkTest : public testing::Test {
 protected:
  void Connect(const FakeOptions& options) {
    fabric_ = std::make_unique<FakeFabric>(options);
    for (int host : {0, 1}) {
      region_[host] = fabric_->transport(host).Register(memory_[host]).value();
      links_[host] = fabric_->transport(host).Connect(fabric_->peer(1 - host));
    }
    ASSERT_TRUE(links_[0]->PostSend(memory_[0], kTag, 1).ok());
    ASSERT_TRUE(links_[1]->PostRecv(memory_[1], kTag, 2).ok());
  }
  OpResult Finish(int host) {
    std::array<Completion, 1> out;
    for (int i = 0; i < 10000; ++i) {
      if (links_[host]->Poll(out) == 1) return out[0].result;
      fabric_->Step();
    }
    ADD_FAILURE() << "never ends";
    return OpResult::kOk;
  }

  std::vector<std::byte> memory_[2] = {std::vector<std::byte>(10000), std::vector<std::byte>(10000)};
  std::unique_ptr<FakeFabric> fabric_;
  std::unique_ptr<Region> region_[2];
  std::unique_ptr<Link> links_[2];
};

TEST_F(FakeNetworkTest, AKilledLinkIsNoticedAfterTheDelay) {
  Connect({.min_delay = seconds(1), .max_delay = seconds(1), .detect_after = seconds(3)});
  fabric_->Step();
  const Time killed = fabric_->now();
  fabric_->network().KillLink(0, 1);
  EXPECT_EQ(Finish(0), OpResult::kLinkLost);
  EXPECT_EQ(Finish(1), OpResult::kLinkLost);
  EXPECT_GE(fabric_->now(), killed + seconds(3));
}

TEST_F(FakeNetworkTest, ALinkDiesAfterTheFramesGivenToIt) {
  Connect({});
  fabric_->network().KillLinkAfterFrames(0, 1, 1);  // the credit passes, the data does not
  EXPECT_EQ(Finish(1), OpResult::kLinkLost);
}

TEST_F(FakeNetworkTest, ADroppedFrameKillsTheLink) {
  Connect({.drop_probability = 1});
  EXPECT_EQ(Finish(1), OpResult::kLinkLost);
}

TEST_F(FakeNetworkTest, AKilledHostCompletesNothing) {
  Connect({.min_delay = seconds(1), .max_delay = seconds(1)});
  fabric_->network().KillHost(1);
  EXPECT_EQ(Finish(0), OpResult::kLinkLost);
  std::array<Completion, 1> out;
  EXPECT_EQ(links_[1]->Poll(out), 0u);
}

TEST_F(FakeNetworkTest, APeerThatNeverConnectsIsGivenUp) {
  Connect({.connect_deadline = seconds(5)});
  EXPECT_EQ(Finish(0), OpResult::kOk);
  links_[0].reset();
  links_[0] = fabric_->transport(0).Connect({7, "carl", {}});
  ASSERT_TRUE(links_[0]->PostSend(memory_[0], kTag, 1).ok());
  EXPECT_EQ(Finish(0), OpResult::kLinkLost);
  EXPECT_EQ(links_[0]->error().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(FakeNetworkTest, TheSameSeedGivesTheSameTimes) {
  Time ends[2];
  for (Time& end : ends) {
    for (auto& link : links_) link.reset();
    for (auto& region : region_) region.reset();
    Connect({.seed = 5, .min_delay = milliseconds(1), .max_delay = seconds(1)});
    EXPECT_EQ(Finish(1), OpResult::kOk);
    end = fabric_->now();
  }
  EXPECT_EQ(ends[0], ends[1]);
}

TEST_F(FakeNetworkTest, MemoryThatIsNotRegisteredIsRefused) {
  Connect({});
  region_[0].reset();
  Tag tag = kTag;
  tag.step = 1;
  EXPECT_DEATH((void)links_[0]->PostSend(memory_[0], tag, 3), "registered");
}

}  // namespace
}  // namespace reigen::transport
