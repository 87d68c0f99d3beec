// Goal: what only TCP can get wrong: strangers at the port, addresses, ports,
// peers that send nonsense after a good handshake, paths that are dead.
// Method: transports on loopback beside raw sockets that misbehave. Cases C21(a)
// and C52.
#include "runtime/transport/tcp/tcp_transport.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <functional>

#include "runtime/base/hmac.h"
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

// A caller without manners.
class Stranger {
 public:
  explicit Stranger(const std::string& endpoint) {
    const SocketAddress address = ParseEndpoint(endpoint, "tcp").value();
    fd_.Reset(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(fd_.get(), address.get(), address.bytes), 0);
  }
  void Say(const std::string& bytes) {
    EXPECT_EQ(send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  std::string Hear(size_t bytes) {
    std::string heard(bytes, '\0');
    size_t have = 0;
    while (have < bytes) {
      const ssize_t got = recv(fd_.get(), heard.data() + have, bytes - have, MSG_DONTWAIT);
      if (got <= 0) break;
      have += static_cast<size_t>(got);
    }
    heard.resize(have);
    return heard;
  }
  bool closed() {
    char byte;
    const ssize_t got = recv(fd_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return got == 0 || (got < 0 && errno != EAGAIN);
  }

 private:
  UniqueFd fd_;
};

TEST_F(TcpTransportTest, StrangersAreDroppedAndTheJobIsNotDisturbed) {
  Create(0, Options(0));
  Create(1, Options(1));
  const std::string door = hosts_[1]->addresses()[0];
  Stranger web(door), silent(door), garbage(door), slow(door);
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

TEST_F(TcpTransportTest, AFloodOfCallersKeepsNoPeerOut) {
  Create(0, Options(0));
  Create(1, Options(1));
  std::vector<std::unique_ptr<Stranger>> flood;
  for (int i = 0; i < 400; ++i) {
    flood.push_back(std::make_unique<Stranger>(hosts_[1]->addresses()[0]));
    if (i % 50 == 0) Step();
  }
  Connect(0);
  Connect(1);
  ExpectWorks();
  EXPECT_TRUE(flood.front()->closed());
}

TEST_F(TcpTransportTest, AHostWithAnotherSecretGetsNoLink) {
  TcpOptions wrong = Options(0);
  wrong.secret = "a guess";
  wrong.connect_deadline = milliseconds(300);
  Create(0, wrong);
  Create(1, Options(1));
  Connect(0);
  Connect(1);
  ASSERT_TRUE(links_[0]->PostSend(out_, kTag, 1).ok());
  EXPECT_EQ(Finish(0), OpResult::kLinkLost);
  const std::string why = links_[0]->error().ToString();
  EXPECT_NE(why.find("anna -> bert"), std::string::npos) << why;
  EXPECT_NE(why.find("does not know this job's secret"), std::string::npos) << why;
  EXPECT_EQ(why.find("a guess"), std::string::npos);
  EXPECT_TRUE(links_[1]->error().ok()) << "it still waits for the true one";
  links_[0].reset();
  hosts_[0].reset();
  Create(0, Options(0));
  Connect(0);
  ExpectWorks();
}

TEST_F(TcpTransportTest, AReplayedHandshakeIsRefused) {
  Create(1, Options(1));
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
    Stranger first(door);
    first.Say(said[0] = dial.TakeOutput());
    const std::string challenge = hear(first, kChallengeBytes);
    ASSERT_TRUE(dial.OnMessage(std::as_bytes(std::span(challenge))).ok());
    first.Say(said[1] = dial.TakeOutput());
    EXPECT_EQ(hear(first, kWelcomeBytes), AcceptHandshake::Welcome());
  }
  links_[1].reset();
  Connect(1);
  Stranger second(door);
  second.Say(said[0]);
  EXPECT_EQ(hear(second, kChallengeBytes).size(), kChallengeBytes);
  second.Say(said[1]);
  EXPECT_TRUE(StepUntil([&] { return second.closed(); }));
  EXPECT_TRUE(links_[1]->error().ok());
}

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
      Stranger peer(hosts_[1]->addresses()[0]);
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
