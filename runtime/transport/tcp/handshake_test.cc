// Goal: only who knows the secret, now, for this job, host and channel gets in.
// Method: both machines in memory; what passes between them is changed or replayed.
#include "runtime/transport/tcp/handshake.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace reigen::transport {
namespace {

Identity Anna() { return {"job 7", "the secret", 0}; }
Identity Bert() { return {"job 7", "the secret", 1}; }

Hello ToBert() {
  Hello hello;
  hello.from = 0;
  hello.to = 1;
  hello.channel = 2;
  hello.channels = 4;
  hello.session = 77;
  return hello;
}

// Gives `bytes` to the machine as it asks for them.
Status Give(Handshake& to, std::string bytes) {
  while (!bytes.empty() && to.wanted() > 0 && bytes.size() >= to.wanted()) {
    const std::string message = bytes.substr(0, to.wanted());
    bytes.erase(0, message.size());
    REIGEN_RETURN_IF_ERROR(to.OnMessage(std::as_bytes(std::span(message))));
  }
  return bytes.empty() ? OkStatus() : Internal("it did not want all");
}

struct Pair {
  Pair(const Identity& dialler, const Identity& acceptor, const Hello& hello = ToBert())
      : dial(dialler, hello), accept(acceptor) {}
  // Until the proof is given; the first error.
  Status Run() {
    REIGEN_RETURN_IF_ERROR(Give(accept, dial.TakeOutput()));
    REIGEN_RETURN_IF_ERROR(Give(dial, accept.TakeOutput()));
    return Give(accept, dial.TakeOutput());
  }
  DialHandshake dial;
  AcceptHandshake accept;
};

TEST(HandshakeTest, TwoHostsOfAJobProveThemselvesToEachOther) {
  Pair pair(Anna(), Bert());
  ASSERT_TRUE(pair.Run().ok());
  EXPECT_TRUE(pair.dial.authentic());
  EXPECT_TRUE(pair.accept.authentic());
  EXPECT_EQ(pair.accept.hello().from, 0u);
  EXPECT_EQ(pair.accept.hello().channel, 2);
  EXPECT_EQ(pair.accept.hello().channels, 4);
  EXPECT_EQ(pair.accept.hello().session, 77u);
  EXPECT_FALSE(pair.dial.welcome());
  EXPECT_TRUE(Give(pair.dial, AcceptHandshake::Welcome()).ok());
  EXPECT_TRUE(pair.dial.welcome());
  EXPECT_EQ(pair.dial.wanted(), 0u);
}

TEST(HandshakeTest, TheSecretNeverCrossesTheWire) {
  Pair pair(Anna(), Bert());
  std::string wire = pair.dial.TakeOutput();
  ASSERT_TRUE(Give(pair.accept, wire).ok());
  const std::string challenge = pair.accept.TakeOutput();
  ASSERT_TRUE(Give(pair.dial, challenge).ok());
  wire += challenge + pair.dial.TakeOutput();
  EXPECT_EQ(wire.size(), kHelloBytes + kChallengeBytes + kProofBytes);
  EXPECT_EQ(wire.find("secret"), std::string::npos);
}

TEST(HandshakeTest, AWrongSecretIsSeenByEitherEnd) {
  Identity wrong = Bert();
  wrong.secret = "a guess";
  Pair false_acceptor(Anna(), wrong);
  EXPECT_EQ(false_acceptor.Run().code(), StatusCode::kUnauthenticated);
  EXPECT_FALSE(false_acceptor.dial.authentic());

  // A dialler that does not check and makes up its proof.
  AcceptHandshake accept(Bert());
  Identity liar = Anna();
  liar.secret = "a guess";
  DialHandshake dial(liar, ToBert());
  ASSERT_TRUE(Give(accept, dial.TakeOutput()).ok());
  EXPECT_EQ(Give(accept, std::string(kProofBytes, 'x')).code(), StatusCode::kUnauthenticated);
  EXPECT_FALSE(accept.authentic());
}

TEST(HandshakeTest, AReplayedConversationIsRefused) {
  Pair pair(Anna(), Bert());
  const std::string hello = pair.dial.TakeOutput();
  ASSERT_TRUE(Give(pair.accept, hello).ok());
  const std::string challenge = pair.accept.TakeOutput();
  ASSERT_TRUE(Give(pair.dial, challenge).ok());
  const std::string proof = pair.dial.TakeOutput();
  ASSERT_TRUE(Give(pair.accept, proof).ok());

  AcceptHandshake again(Bert());
  ASSERT_TRUE(Give(again, hello).ok());
  EXPECT_EQ(Give(again, proof).code(), StatusCode::kUnauthenticated);

  DialHandshake other(Anna(), ToBert());
  EXPECT_EQ(Give(other, challenge).code(), StatusCode::kUnauthenticated);
}

TEST(HandshakeTest, TheAcceptorsMacIsNoProof) {
  AcceptHandshake accept(Bert());
  DialHandshake dial(Anna(), ToBert());
  ASSERT_TRUE(Give(accept, dial.TakeOutput()).ok());
  const std::string mac = accept.TakeOutput().substr(kNonceBytes);
  EXPECT_EQ(Give(accept, mac).code(), StatusCode::kUnauthenticated);
}

TEST(HandshakeTest, EveryBitOfTheHelloIsCovered) {
  for (size_t bit = 0; bit < kHelloBytes * 8; ++bit) {
    Pair pair(Anna(), Bert());
    std::string hello = pair.dial.TakeOutput();
    hello[bit / 8] = static_cast<char>(hello[bit / 8] ^ (1 << (bit % 8)));
    const Status early = Give(pair.accept, hello);
    if (!early.ok()) continue;
    EXPECT_FALSE(Give(pair.dial, pair.accept.TakeOutput()).ok()) << "bit " << bit;
  }
}

TEST(HandshakeTest, OtherJobsHostsAndVersionsAreNamed) {
  Identity other_job = Anna();
  other_job.job = "job 8";
  EXPECT_NE(Pair(other_job, Bert()).Run().ToString().find("another job"), std::string::npos);

  Identity carl = Bert();
  carl.host = 2;
  EXPECT_NE(Pair(Anna(), carl).Run().ToString().find("looks for host 1, this is host 2"),
            std::string::npos);

  AcceptHandshake accept(Bert());
  std::string start = "REIGENLK";
  start += std::string("\x09\0\0\0", 4);
  EXPECT_NE(Give(accept, start).ToString().find("speaks version 9"), std::string::npos);
}

TEST(HandshakeTest, TheHigherHostNumberDoesNotDial) {
  Hello hello = ToBert();
  hello.from = 1;
  hello.to = 1;
  EXPECT_FALSE(Pair(Anna(), Bert(), hello).Run().ok());
  hello.from = 5;
  EXPECT_FALSE(Pair(Anna(), Bert(), hello).Run().ok());
}

TEST(HandshakeTest, ChannelsOutOfRangeAreRefused) {
  Hello hello = ToBert();
  hello.channel = 4;
  EXPECT_FALSE(Pair(Anna(), Bert(), hello).Run().ok());
  hello.channel = 0;
  hello.channels = 0;
  EXPECT_FALSE(Pair(Anna(), Bert(), hello).Run().ok());
  hello.channels = 65;
  EXPECT_FALSE(Pair(Anna(), Bert(), hello).Run().ok());
}

TEST(HandshakeTest, AStrangerEndsWithItsFirstBytes) {
  AcceptHandshake accept(Bert());
  EXPECT_EQ(accept.wanted(), kHelloStartBytes);
  EXPECT_FALSE(Give(accept, std::string("GET / HTTP/1").substr(0, kHelloStartBytes)).ok());
}

}  // namespace
}  // namespace reigen::transport
