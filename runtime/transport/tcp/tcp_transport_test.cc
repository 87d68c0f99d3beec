// Goal: what only TCP can get wrong: addresses, ports, peers that send nonsense after a
// good handshake, paths that are dead.
// Method: transports on loopback beside raw sockets that misbehave. Case C21(a).
#include "runtime/transport/tcp/tcp_transport.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <functional>

#include "runtime/transport/conformance/stranger.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/tcp/address.h"
#include "runtime/transport/tcp/handshake.h"
#include "runtime/transport/tcp/socket.h"

namespace reigen::transport {
namespace {

constexpr Tag kTag = {.collective = {.epoch = 1, .sequence = 1, .stream = 0}};

TcpOptions Options(int host) {
  TcpOptions options;
  options.job = "job";
  options.secret = "secret";
  options.host = host;
  options.name = host == 0 ? "anna" : "bert";
  options.bind_addresses = {"127.0.0.1"};
  return options;
}

class TcpTransportTest : public testing::Test {
 protected:
  void TearDown() override {
    for (auto& link : links_) link.reset();
  }

  void Create(int host, const TcpOptions& options) {
    auto transport = TcpTransport::Create(options);
    ASSERT_TRUE(transport.ok()) << transport.status().ToString();
    hosts_[host] = std::move(transport).value();
  }
  void Connect(int host) {
    Peer peer = {1 - host, host == 0 ? "bert" : "anna", peer_addresses_};
    if (peer.addresses.empty() && hosts_[1 - host] != nullptr) {
      peer.addresses = hosts_[1 - host]->addresses();
    }
    links_[host] = hosts_[host]->Connect(peer);
  }
  void Step() {
    std::vector<pollfd> fds;
    for (const auto& host : hosts_) {
      if (host != nullptr) fds.push_back({host->event_fd(), POLLIN, 0});
    }
    poll(fds.data(), fds.size(), 2);
    for (const auto& host : hosts_) {
      if (host != nullptr) host->Progress(Now() + ahead_);
    }
  }
  bool StepUntil(const std::function<bool()>& done, Duration limit = seconds(10)) {
    for (const Time end = Now() + limit; Now() < end; Step()) {
      if (done()) return true;
    }
    return false;
  }
  std::optional<OpResult> Finish(int host, Duration limit = seconds(10)) {
    std::array<Completion, 1> done;
    if (!StepUntil([&] { return links_[host]->Poll(done) == 1; }, limit)) return std::nullopt;
    return done[0].result;
  }
  // A message passes between the two.
  void ExpectWorks(Duration limit = seconds(10)) {
    ASSERT_TRUE(links_[0]->PostSend(out_, kTag, 1).ok());
    ASSERT_TRUE(links_[1]->PostRecv(in_, kTag, 2).ok());
    EXPECT_EQ(Finish(1, limit), OpResult::kOk) << links_[0]->error().ToString();
    EXPECT_EQ(Finish(0, limit), OpResult::kOk);
  }

  std::unique_ptr<TcpTransport> hosts_[2];
  std::unique_ptr<Link> links_[2];
  std::vector<std::string> peer_addresses_;  // if not the true ones
  std::vector<std::byte> out_ = std::vector<std::byte>(5000);
  std::vector<std::byte> in_ = std::vector<std::byte>(5000);
  Duration ahead_{0};  // of the transports' clock
};

// After a true handshake the peer's bytes are still only input.
TEST_F(TcpTransportTest, NonsenseFromAPeerEndsTheLinkAndNamesIt) {
  Frame eager_without_end;
  eager_without_end.kind = FrameKind::kEager;
  eager_without_end.length = 5;
  Frame data;
  data.kind = FrameKind::kData;
  data.length = 8;
  const auto bytes_of = [](const Frame& frame) {
    const FrameBytes bytes = EncodeFrame(frame);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const std::pair<std::string, std::string> cases[] = {
      {std::string(500, 'x'), "not a frame"},
      {bytes_of(data), "without a credit"},
      {bytes_of(eager_without_end), "within a message"},
      {bytes_of(eager_without_end).substr(0, 20), "within a message"},
  };
  Create(1, Options(1));
  for (const auto& [bytes, expected] : cases) {
    Connect(1);
    Hello hello;
    hello.to = 1;
    DialHandshake dial({"job", "secret", 0}, hello);
    {
      Stranger peer(hosts_[1]->addresses()[0], "tcp");
      peer.Say(dial.TakeOutput());
      std::string heard;
      ASSERT_TRUE(StepUntil([&] {
        return (heard += peer.Hear(kChallengeBytes - heard.size())).size() == kChallengeBytes;
      }));
      ASSERT_TRUE(dial.OnMessage(std::as_bytes(std::span(heard))).ok());
      peer.Say(dial.TakeOutput());
      ASSERT_TRUE(StepUntil([&] { return peer.Hear(kWelcomeBytes).size() == kWelcomeBytes; }));
      peer.Say(bytes);
    }
    ASSERT_TRUE(StepUntil([&] { return !links_[1]->error().ok(); }));
    const std::string why = links_[1]->error().ToString();
    EXPECT_NE(why.find(expected), std::string::npos) << why;
    EXPECT_NE(why.find("anna (127.0.0.1:"), std::string::npos) << why;
    links_[1].reset();
  }
}

TEST_F(TcpTransportTest, APeerThatListensOnV4OnlyIsReachedThoughV6ComesFirst) {
  Create(0, Options(0));
  Create(1, Options(1));
  const std::string port = std::to_string(ParseEndpoint(hosts_[1]->addresses()[0], "tcp").value().port());
  peer_addresses_ = {"tcp:[::1]:" + port, "tcp:127.0.0.1:" + port};
  Connect(0);
  Connect(1);
  ExpectWorks(seconds(2));
}

TEST_F(TcpTransportTest, APeerThatListensOnV6OnlyIsReachedThoughV4ComesFirst) {
  TcpOptions options = Options(1);
  options.bind_addresses = {"::1"};
  Create(0, Options(0));
  Create(1, options);
  const std::string port = std::to_string(ParseEndpoint(hosts_[1]->addresses()[0], "tcp").value().port());
  peer_addresses_ = {"tcp:127.0.0.1:" + port, "tcp:[::1]:" + port};
  Connect(0);
  Connect(1);
  ExpectWorks(seconds(2));
}

TEST_F(TcpTransportTest, AnAddressThatTakesCallsAndSaysNothingIsPassedOver) {
  Create(0, Options(0));
  Create(1, Options(1));
  const UniqueFd mute = Listen(ParseAddress("127.0.0.1").value(), PortRange()).value();
  peer_addresses_ = {"tcp:" + LocalName(mute.get()), hosts_[1]->addresses()[0]};
  Connect(0);
  Connect(1);
  for (int i = 0; i < 20; ++i) Step();
  ahead_ = seconds(3);
  ExpectWorks();
}

TEST_F(TcpTransportTest, APeerThatComesLateIsReached) {
  Create(0, Options(0));
  Create(1, Options(1));
  const std::string endpoint = hosts_[1]->addresses()[0];
  const uint16_t port = ParseEndpoint(endpoint, "tcp").value().port();
  hosts_[1].reset();
  peer_addresses_ = {endpoint};
  Connect(0);
  for (int i = 0; i < 100; ++i) Step();
  TcpOptions options = Options(1);
  options.ports = {port, port};
  Create(1, options);
  Connect(1);
  ExpectWorks();
}

TEST_F(TcpTransportTest, APeerThatNeverComesIsGivenUpAndNamed) {
  for (int host : {0, 1}) {
    TcpOptions options = Options(host);
    options.connect_deadline = seconds(20);
    Create(host, options);
  }
  const UniqueFd held(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  peer_addresses_ = {"tcp:127.0.0.1:1"};
  Connect(0);
  for (int i = 0; i < 20; ++i) Step();
  ahead_ = seconds(21);
  ASSERT_TRUE(links_[0]->PostSend(out_, kTag, 1).ok());
  EXPECT_EQ(Finish(0), OpResult::kLinkLost);
  const std::string why = links_[0]->error().ToString();
  EXPECT_NE(why.find("anna -> bert (tcp): not connected in 20 s"), std::string::npos) << why;
  EXPECT_NE(why.find("tcp:127.0.0.1:1: connect: Connection refused"), std::string::npos) << why;
}

TEST_F(TcpTransportTest, ListensOnTheAddressesGivenAndNoOther) {
  TcpOptions options = Options(0);
  options.bind_addresses = {"127.0.0.2", "::1"};
  Create(0, options);
  const std::vector<std::string> addresses = hosts_[0]->addresses();
  ASSERT_EQ(addresses.size(), 2u);
  EXPECT_EQ(addresses[0].rfind("tcp:127.0.0.2:", 0), 0u) << addresses[0];
  EXPECT_EQ(addresses[1].rfind("tcp:[::1]:", 0), 0u) << addresses[1];
  SocketAddress elsewhere = ParseAddress("127.0.0.1").value();
  elsewhere.set_port(ParseEndpoint(addresses[0], "tcp").value().port());
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_NE(connect(fd.get(), elsewhere.get(), elsewhere.bytes), 0);
}

TEST_F(TcpTransportTest, PortsLieInTheRangeAndARangeThatIsTooSmallIsAClearError) {
  Create(0, Options(0));
  const uint16_t taken = ParseEndpoint(hosts_[0]->addresses()[0], "tcp").value().port();
  TcpOptions options = Options(1);
  options.ports = {taken, taken};
  const auto refused = TcpTransport::Create(options);
  ASSERT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  const std::string why = refused.status().ToString();
  const std::string range = std::to_string(taken) + "-" + std::to_string(taken);
  EXPECT_NE(why.find("links of bert: no free port in " + range + " on 127.0.0.1"), std::string::npos)
      << why;

  options.ports = {taken, static_cast<uint16_t>(std::min(65535, taken + 50))};
  Create(1, options);
  const uint16_t port = ParseEndpoint(hosts_[1]->addresses()[0], "tcp").value().port();
  EXPECT_GT(port, options.ports.first);
  EXPECT_LE(port, options.ports.last);
}

TEST_F(TcpTransportTest, OptionsThatCannotWorkAreRefused) {
  TcpOptions options = Options(0);
  options.bind_addresses = {};
  EXPECT_FALSE(TcpTransport::Create(options).ok());
  options.bind_addresses = {"localhost"};
  EXPECT_FALSE(TcpTransport::Create(options).ok());
  options.bind_addresses = {"203.0.113.9"};  // of no interface here
  const auto absent = TcpTransport::Create(options);
  EXPECT_NE(absent.status().ToString().find("203.0.113.9"), std::string::npos);
  options = Options(0);
  options.secret = "";
  EXPECT_FALSE(TcpTransport::Create(options).ok());
  options = Options(0);
  options.channels = 0;
  EXPECT_FALSE(TcpTransport::Create(options).ok());
  options = Options(0);
  options.ports = {5, 4};
  EXPECT_FALSE(TcpTransport::Create(options).ok());
}

}  // namespace
}  // namespace reigen::transport
