// What a link does when plans differ, an end closes or a host dies.
#include "runtime/transport/conformance/conformance.h"
#include "runtime/transport/link_limits.h"

namespace reigen::transport {
namespace {

Tag MakeTag(uint64_t sequence) {
  return {.collective = {.epoch = 1, .sequence = sequence, .stream = 0}};
}

// Every pair of size classes, each with either end first. An eager send is over
// once written, so that only its receiver must see the mismatch.
TEST_P(LinkConformance, LengthsThatDifferEndBothPostsAndNothingElse) {
  ConnectBoth();
  const size_t kSizes[] = {0, 8, 4096, 4097, 100000};
  struct Pair {
    size_t sent;
    size_t expected;
    bool receive_first;
  };
  std::vector<Pair> pairs;
  for (size_t sent : kSizes) {
    for (size_t expected : kSizes) {
      if (sent == expected) continue;
      pairs.push_back({sent, expected, false});
      pairs.push_back({sent, expected, true});
    }
  }
  const auto receive = [&](bool first) {
    for (uint64_t id = 0; id < pairs.size(); ++id) {
      if (pairs[id].receive_first != first) continue;
      ASSERT_TRUE(links_[1]->PostRecv(Buffer(pairs[id].expected), MakeTag(id), id).ok());
    }
    for (int i = 0; i < 10; ++i) fabric_->Step();
  };
  receive(/*first=*/true);
  for (uint64_t id = 0; id < pairs.size(); ++id) {
    ASSERT_TRUE(links_[0]->PostSend(Filled(pairs[id].sent, 1), MakeTag(id), id).ok());
  }
  for (int i = 0; i < 10; ++i) fabric_->Step();
  receive(/*first=*/false);
  for (uint64_t id = 0; id < pairs.size(); ++id) {
    const Pair& pair = pairs[id];
    EXPECT_EQ(Result(1, id), OpResult::kPlanMismatch) << pair.sent << " for " << pair.expected;
    const std::optional<OpResult> send = Result(0, id);
    ASSERT_TRUE(send.has_value()) << pair.sent << " for " << pair.expected;
    if (pair.sent > kEagerBytes) {
      EXPECT_EQ(send, OpResult::kPlanMismatch) << pair.sent << " for " << pair.expected;
    }
  }
  ASSERT_TRUE(links_[0]->error().ok()) << links_[0]->error().ToString();
  ASSERT_TRUE(links_[1]->error().ok()) << links_[1]->error().ToString();
  const auto in = Buffer(5000);
  ASSERT_TRUE(links_[0]->PostSend(Filled(5000, 4), MakeTag(9999), 9999).ok());
  ASSERT_TRUE(links_[1]->PostRecv(in, MakeTag(9999), 9999).ok());
  EXPECT_EQ(Result(1, 9999), OpResult::kOk);
  ExpectFilled(in, 4);
}

TEST_P(LinkConformance, CloseEndsEveryPostOnceAtBothEnds) {
  constexpr uint64_t kPosts = 20;
  ConnectAndUseBoth();
  const auto out = Filled(100000, 1);
  std::vector<std::span<std::byte>> in;
  for (uint64_t id = 0; id < kPosts; ++id) {
    in.push_back(Buffer(100000));
    // Half of the receives have no send and the other way round.
    ASSERT_TRUE(links_[0]->PostSend(out, MakeTag(id), id).ok());
    ASSERT_TRUE(links_[1]->PostRecv(in.back(), MakeTag(id + kPosts / 2), id).ok());
  }
  for (int i = 0; i < 3; ++i) fabric_->Step();
  links_[0]->Close();
  ASSERT_TRUE(StepUntil([&] {
    return results_[0].size() == kPosts && results_[1].size() == kPosts;
  }));
  EXPECT_EQ(results_[0].at(0), OpResult::kCancelled);
  EXPECT_EQ(results_[1].at(kPosts - 1), OpResult::kLinkLost);
  EXPECT_FALSE(links_[0]->error().ok());
  EXPECT_FALSE(links_[1]->error().ok());

  // Posts after the end have their completion too.
  ASSERT_TRUE(links_[0]->PostSend(out, MakeTag(100), 100).ok());
  ASSERT_TRUE(links_[1]->PostRecv(in[0], MakeTag(101), 101).ok());
  EXPECT_EQ(Result(0, 100), OpResult::kCancelled);
  EXPECT_EQ(Result(1, 101), OpResult::kLinkLost);
  links_[0]->Close();
  links_[1]->Close();
  ExpectQuiet();
}

TEST_P(LinkConformance, WhatWasSentBeforeCloseArrives) {
  ConnectBoth();
  const auto eager = Buffer(100);
  const auto large = Buffer(300000);
  ASSERT_TRUE(links_[1]->PostRecv(large, MakeTag(1), 1).ok());
  ASSERT_TRUE(links_[0]->PostSend(Filled(300000, 1), MakeTag(1), 1).ok());
  ASSERT_TRUE(links_[0]->PostSend(Filled(100, 2), MakeTag(2), 2).ok());
  const auto receive = [&] { return links_[1]->PostRecv(eager, MakeTag(2), 2); };
  if (!GetParam().eager) {
    ASSERT_TRUE(receive().ok());
  }
  ASSERT_EQ(Result(0, 1), OpResult::kOk);
  ASSERT_EQ(Result(0, 2), OpResult::kOk);
  if (GetParam().eager) {
    ASSERT_TRUE(receive().ok());
  }
  links_[0]->Close();
  EXPECT_EQ(Result(1, 1), OpResult::kOk);
  EXPECT_EQ(Result(1, 2), OpResult::kOk);
  ExpectFilled(large, 1);
  ExpectFilled(eager, 2);
  ASSERT_TRUE(StepUntil([&] { return !links_[1]->error().ok(); }));
}

TEST_P(LinkConformance, ADeadPeerEndsEveryPostOnceAndIsNamed) {
  ConnectBoth();
  const auto in = Buffer(8);
  ASSERT_TRUE(links_[0]->PostSend(Filled(8, 3), MakeTag(1), 1).ok());
  ASSERT_TRUE(links_[1]->PostRecv(in, MakeTag(1), 1).ok());
  ASSERT_EQ(Result(1, 1), OpResult::kOk);
  for (uint64_t id = 10; id < 30; ++id) {
    ASSERT_TRUE(links_[0]->PostSend(Filled(50000, 1), MakeTag(id), id).ok());
    ASSERT_TRUE(links_[0]->PostRecv(Buffer(50000), MakeTag(id), id + 100).ok());
  }
  fabric_->Step();
  links_[1].reset();
  fabric_->KillHost(1);
  ASSERT_TRUE(StepUntil([&] { return results_[0].size() == 41; }));
  for (uint64_t id = 10; id < 30; ++id) {
    EXPECT_EQ(results_[0].at(id), OpResult::kLinkLost);
    EXPECT_EQ(results_[0].at(id + 100), OpResult::kLinkLost);
  }
  const std::string why = links_[0]->error().ToString();
  EXPECT_NE(why.find(fabric_->peer(1).name), std::string::npos) << why;
  EXPECT_NE(why.find(fabric_->peer(0).name), std::string::npos) << why;
}

TEST_P(LinkConformance, ALinkMadeAnewWorks) {
  for (uint64_t round = 1; round <= 3; ++round) {
    ConnectBoth();
    for (auto& results : results_) results.clear();
    const auto in = Buffer(100000);
    ASSERT_TRUE(links_[1]->PostRecv(in, MakeTag(1), 1).ok());
    ASSERT_TRUE(links_[0]->PostSend(Filled(100000, round), MakeTag(1), 1).ok());
    ASSERT_EQ(Result(1, 1), OpResult::kOk);
    ExpectFilled(in, round);
    // Each end notices in its turn.
    links_[round % 2]->Close();
    links_[round % 2].reset();
    ASSERT_TRUE(StepUntil([&] { return !links_[1 - round % 2]->error().ok(); }));
    links_[1 - round % 2].reset();
  }
}

// The dialler asks again while the other end still has the link of before.
TEST_P(LinkConformance, ALinkMadeAnewByOneEndFirstWorks) {
  for (int first : {0, 1}) {
    ConnectBoth();
    for (auto& results : results_) results.clear();
    const auto in = Buffer(10000);
    ASSERT_TRUE(links_[1]->PostRecv(in, MakeTag(1), 1).ok());
    ASSERT_TRUE(links_[0]->PostSend(Filled(10000, 1), MakeTag(1), 1).ok());
    ASSERT_EQ(Result(1, 1), OpResult::kOk);
    links_[first].reset();
    links_[first] = fabric_->transport(first).Connect(fabric_->peer(1 - first));
    ASSERT_TRUE(StepUntil([&] { return !links_[1 - first]->error().ok(); }));
    for (int i = 0; i < 20; ++i) fabric_->Step();
    links_[1 - first].reset();
    links_[1 - first] = fabric_->transport(1 - first).Connect(fabric_->peer(first));
    for (auto& results : results_) results.clear();
    ASSERT_TRUE(links_[1]->PostRecv(in, MakeTag(2), 2).ok());
    ASSERT_TRUE(links_[0]->PostSend(Filled(10000, 7), MakeTag(2), 2).ok());
    ASSERT_EQ(Result(1, 2), OpResult::kOk);
    ExpectFilled(in, 7);
  }
}

TEST_P(LinkConformance, PostsBeforeThePeerConnectsWaitForIt) {
  links_[0] = fabric_->transport(0).Connect(fabric_->peer(1));
  const auto in = Buffer(10000);
  ASSERT_TRUE(links_[0]->PostSend(Filled(10000, 1), MakeTag(1), 1).ok());
  ASSERT_TRUE(links_[0]->PostSend(Filled(10, 2), MakeTag(2), 2).ok());
  for (int i = 0; i < 10; ++i) fabric_->Step();
  PollAll(0);
  EXPECT_TRUE(results_[0].empty()) << "sent to nobody";
  links_[1] = fabric_->transport(1).Connect(fabric_->peer(0));
  const auto small = Buffer(10);
  ASSERT_TRUE(links_[1]->PostRecv(in, MakeTag(1), 1).ok());
  ASSERT_TRUE(links_[1]->PostRecv(small, MakeTag(2), 2).ok());
  EXPECT_EQ(Result(1, 1), OpResult::kOk);
  EXPECT_EQ(Result(1, 2), OpResult::kOk);
  ExpectFilled(in, 1);
  ExpectFilled(small, 2);
}

TEST_P(LinkConformance, ALinkThatWasNeverMadeCanBeClosed) {
  ConnectBoth();
  ASSERT_TRUE(links_[0]->PostSend(Filled(10, 2), MakeTag(2), 2).ok());
  links_[0]->Close();
  EXPECT_EQ(Result(0, 2), OpResult::kCancelled);
}

TEST_P(LinkConformance, ATagPostedTwiceIsRefused) {
  ConnectBoth();
  const auto data = Filled(10000, 2);
  ASSERT_TRUE(links_[0]->PostSend(data, MakeTag(1), 1).ok());
  ASSERT_TRUE(links_[0]->PostRecv(data, MakeTag(1), 2).ok());
  EXPECT_EQ(links_[0]->PostSend(data, MakeTag(1), 3).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(links_[0]->PostRecv(data, MakeTag(1), 4).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace reigen::transport
