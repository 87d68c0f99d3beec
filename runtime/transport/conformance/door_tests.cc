#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/hmac.h"
#include "runtime/transport/conformance/door.h"
#include "runtime/transport/conformance/stranger.h"
#include "runtime/transport/link.h"
#include "runtime/transport/tcp/handshake.h"

namespace reigen::transport {

std::string DoorName(const testing::TestParamInfo<DoorCase>& info) { return info.param.scheme; }

namespace {

constexpr Tag kTag = {.collective = {.epoch = 1, .sequence = 1, .stream = 0}};

}  // namespace

void DoorConformance::SetUp() { make_ = GetParam().open(); }

void DoorConformance::TearDown() {
  for (int host : {0, 1}) KillHost(host);
}

void DoorConformance::Create(int host, const std::string& secret, Duration connect_deadline) {
  hosts_[host] = make_(host, secret, connect_deadline);
  ASSERT_NE(hosts_[host], nullptr);
  auto region = hosts_[host]->Register(memory_[host]);
  ASSERT_TRUE(region.ok()) << region.status().ToString();
  regions_[host] = std::move(region).value();
}

void DoorConformance::KillHost(int host) {
  links_[host].reset();
  regions_[host].reset();
  hosts_[host].reset();
}

void DoorConformance::Connect(int host) {
  Peer peer = {1 - host, host == 0 ? "bert" : "anna", {}};
  if (hosts_[1 - host] != nullptr) peer.addresses = hosts_[1 - host]->addresses();
  links_[host] = hosts_[host]->Connect(peer);
}

void DoorConformance::Step() {
  std::vector<pollfd> fds;
  for (const auto& host : hosts_) {
    if (host != nullptr) fds.push_back({host->event_fd(), POLLIN, 0});
  }
  poll(fds.data(), fds.size(), 2);
  for (const auto& host : hosts_) {
    if (host != nullptr) host->Progress(Now() + ahead_);
  }
}

bool DoorConformance::StepUntil(const std::function<bool()>& done, Duration limit) {
  for (const Time end = Now() + limit; Now() < end; Step()) {
    if (done()) return true;
  }
  return false;
}

std::optional<OpResult> DoorConformance::Finish(int host) {
  std::array<Completion, 1> done;
  if (!StepUntil([&] { return links_[host]->Poll(done) == 1; })) return std::nullopt;
  return done[0].result;
}

void DoorConformance::ExpectWorks() {
  ASSERT_TRUE(links_[0]->PostSend(memory_[0], kTag, 1).ok());
  ASSERT_TRUE(links_[1]->PostRecv(memory_[1], kTag, 2).ok());
  EXPECT_EQ(Finish(1), OpResult::kOk) << links_[0]->error().ToString();
  EXPECT_EQ(Finish(0), OpResult::kOk);
}

TEST_P(DoorConformance, StrangersAreDroppedAndTheJobIsNotDisturbed) {
  Create(0);
  Create(1);
  const std::string door = hosts_[1]->addresses()[0];
  Stranger web(door, scheme()), silent(door, scheme()), garbage(door, scheme()), slow(door, scheme());
  web.Say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  garbage.Say(RandomBytes(500));
  slow.Say("REIG");
  Connect(0);
  Connect(1);
  ExpectWorks();
  EXPECT_TRUE(StepUntil([&] { return web.closed() && garbage.closed(); }));
  EXPECT_FALSE(silent.closed());
  EXPECT_FALSE(slow.closed());
  ahead_ = seconds(6);
  EXPECT_TRUE(StepUntil([&] { return silent.closed() && slow.closed(); }));
  EXPECT_TRUE(links_[0]->error().ok());
  EXPECT_TRUE(links_[1]->error().ok());
}

TEST_P(DoorConformance, AFloodOfCallersKeepsNoPeerOut) {
  Create(0);
  Create(1);
  std::vector<std::unique_ptr<Stranger>> flood;
  for (int i = 0; i < 400; ++i) {
    flood.push_back(std::make_unique<Stranger>(hosts_[1]->addresses()[0], scheme()));
    if (i % 50 == 0) Step();
  }
  Connect(0);
  Connect(1);
  ExpectWorks();
  EXPECT_TRUE(flood.front()->closed());
}

TEST_P(DoorConformance, AHostWithAnotherSecretGetsNoLink) {
  Create(0, "a guess", seconds(3));
  Create(1);
  Connect(0);
  Connect(1);
  ASSERT_TRUE(links_[0]->PostSend(memory_[0], kTag, 1).ok());
  EXPECT_EQ(Finish(0), OpResult::kLinkLost);
  const std::string why = links_[0]->error().ToString();
  EXPECT_NE(why.find("anna -> bert"), std::string::npos) << why;
  EXPECT_NE(why.find("does not know this job's secret"), std::string::npos) << why;
  EXPECT_EQ(why.find("a guess"), std::string::npos);
  EXPECT_TRUE(links_[1]->error().ok()) << "it still waits for the true one";
  KillHost(0);
  Create(0);
  Connect(0);
  ExpectWorks();
}

TEST_P(DoorConformance, AReplayedHandshakeIsRefused) {
  Create(1);
  Connect(1);
  const std::string door = hosts_[1]->addresses()[0];
  const auto hear = [&](Stranger& from, size_t bytes) {
    std::string heard;
    StepUntil([&] { return (heard += from.Hear(bytes - heard.size())).size() == bytes || from.closed(); },
              seconds(2));
    return heard;
  };
  // A true handshake of a link that then ends, recorded.
  Hello hello;
  hello.to = 1;
  DialHandshake dial({"job", "secret", 0}, hello);
  std::string said[2];
  {
    Stranger first(door, scheme());
    first.Say(said[0] = dial.TakeOutput());
    const std::string challenge = hear(first, kChallengeBytes);
    ASSERT_TRUE(dial.OnMessage(std::as_bytes(std::span(challenge))).ok());
    first.Say(said[1] = dial.TakeOutput());
    EXPECT_EQ(hear(first, kWelcomeBytes), AcceptHandshake::Welcome());
  }
  links_[1].reset();
  Connect(1);
  Stranger second(door, scheme());
  second.Say(said[0]);
  EXPECT_EQ(hear(second, kChallengeBytes).size(), kChallengeBytes);
  second.Say(said[1]);
  EXPECT_TRUE(StepUntil([&] { return second.closed(); }));
  EXPECT_TRUE(links_[1]->error().ok());
}

}  // namespace reigen::transport
