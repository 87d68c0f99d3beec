// What a link carries while all is well.
#include <algorithm>
#include <iterator>
#include <random>
#include <span>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/transport/conformance/conformance.h"
#include "runtime/transport/link_limits.h"

namespace reigen::transport {
namespace {

Tag MakeTag(uint64_t sequence, uint32_t segment = 0, uint32_t stream = 0) {
  return {.collective = {.epoch = 1, .sequence = sequence, .stream = stream}, .segment = segment};
}

const size_t kSizes[] = {0, 1, 7, 4095, 4096, 4097, (1 << 20) + 3};

TEST_P(LinkConformance, CarriesEverySizeWhenTheReceiveComesFirst) {
  ConnectBoth();
  uint64_t id = 0;
  for (size_t bytes : kSizes) {
    ++id;
    const auto in = Buffer(bytes);
    ASSERT_TRUE(links_[1]->PostRecv(in, MakeTag(id), id).ok());
    for (int i = 0; i < 5; ++i) fabric_->Step();
    ASSERT_TRUE(links_[0]->PostSend(Filled(bytes, id), MakeTag(id), id).ok());
    EXPECT_EQ(Result(0, id), OpResult::kOk) << bytes;
    EXPECT_EQ(Result(1, id), OpResult::kOk) << bytes;
    ExpectFilled(in, id);
  }
  ExpectQuiet();
}

TEST_P(LinkConformance, CarriesEverySizeWhenTheSendComesFirst) {
  ConnectBoth();
  uint64_t id = 0;
  for (size_t bytes : kSizes) {
    ++id;
    const auto in = Buffer(bytes);
    ASSERT_TRUE(links_[1]->PostSend(Filled(bytes, id), MakeTag(id), id).ok());
    for (int i = 0; i < 5; ++i) fabric_->Step();
    ASSERT_TRUE(links_[0]->PostRecv(in, MakeTag(id), id).ok());
    EXPECT_EQ(Result(0, id), OpResult::kOk) << bytes;
    EXPECT_EQ(Result(1, id), OpResult::kOk) << bytes;
    ExpectFilled(in, id);
  }
  ExpectQuiet();
}

// Senders that wait long ask for their credits; what they then send must not overtake that.
TEST_P(LinkConformance, CarriesEverySizeWhenTheSenderHasAsked) {
  ConnectBoth();
  std::vector<std::span<std::byte>> in;
  for (uint64_t id = 0; id < std::size(kSizes); ++id) {
    in.push_back(Buffer(kSizes[id]));
    ASSERT_TRUE(links_[0]->PostSend(Filled(kSizes[id], id), MakeTag(id), id).ok());
  }
  const Time until = Now() + 2 * kAskForCreditAfter + milliseconds(50);
  StepUntil([&] { return Now() > until; });
  for (uint64_t id = 0; id < std::size(kSizes); ++id) {
    ASSERT_TRUE(links_[1]->PostRecv(in[id], MakeTag(id), id).ok());
  }
  for (uint64_t id = 0; id < std::size(kSizes); ++id) {
    EXPECT_EQ(Result(0, id), OpResult::kOk) << kSizes[id];
    EXPECT_EQ(Result(1, id), OpResult::kOk) << kSizes[id];
    ExpectFilled(in[id], id);
  }
  ExpectQuiet();
}

// Slots are free again whatever frame tells of it: short sends still wait for no receive.
TEST_P(LinkConformance, ShortMessagesAgainstLongOnesKeepTheirSlots) {
  constexpr uint64_t kRounds = 3 * kEagerSlots;
  ConnectBoth();
  const auto in = Buffer(100000);
  const auto out = Filled(100000, 3);
  const auto small = Filled(8, 4);
  const auto small_in = Buffer(8);
  for (uint64_t id = 0; id < kRounds; ++id) {
    ASSERT_TRUE(links_[1]->PostRecv(small_in, MakeTag(id), 2 * id).ok());
    ASSERT_TRUE(links_[0]->PostSend(small, MakeTag(id), 2 * id).ok());
    ASSERT_EQ(Result(1, 2 * id), OpResult::kOk);
    ASSERT_TRUE(links_[0]->PostRecv(in, MakeTag(id), 2 * id + 1).ok());
    ASSERT_TRUE(links_[1]->PostSend(out, MakeTag(id), 2 * id + 1).ok());
    ASSERT_EQ(Result(0, 2 * id + 1), OpResult::kOk);
    ASSERT_EQ(Result(1, 2 * id + 1), OpResult::kOk);
    ASSERT_EQ(Result(0, 2 * id), OpResult::kOk);
  }
  ASSERT_TRUE(links_[0]->PostSend(small, MakeTag(kRounds), 2 * kRounds).ok());
  for (int i = 0; i < 200 && !results_[0].contains(2 * kRounds); ++i) {
    fabric_->Step();
    PollAll(0);
  }
  EXPECT_EQ(results_[0].contains(2 * kRounds), GetParam().eager) << "else it waits for its receive";
}

TEST_P(LinkConformance, CarriesSixtyFourMebibytes) {
  ConnectBoth();
  const auto in = Buffer(64 << 20);
  ASSERT_TRUE(links_[1]->PostRecv(in, MakeTag(1), 1).ok());
  ASSERT_TRUE(links_[0]->PostSend(Filled(64 << 20, 9), MakeTag(1), 2).ok());
  EXPECT_EQ(Result(0, 2), OpResult::kOk);
  EXPECT_EQ(Result(1, 1), OpResult::kOk);
  ExpectFilled(in, 9);
}

TEST_P(LinkConformance, TheSameTagIsUsedInBothDirections) {
  ConnectBoth();
  std::span<std::byte> in[2];
  for (size_t bytes : {size_t{8}, size_t{100000}}) {
    const Tag tag = MakeTag(bytes);
    for (int host : {0, 1}) {
      const uint64_t id = bytes * 2;
      in[host] = Buffer(bytes);
      ASSERT_TRUE(links_[host]->PostRecv(in[host], tag, id).ok());
      ASSERT_TRUE(links_[host]->PostSend(Filled(bytes, host + 1), tag, id + 1).ok());
    }
    for (int host : {0, 1}) {
      EXPECT_EQ(Result(host, bytes * 2), OpResult::kOk);
      EXPECT_EQ(Result(host, bytes * 2 + 1), OpResult::kOk);
      ExpectFilled(in[host], static_cast<uint64_t>(2 - host));
    }
  }
}

// Both directions, sizes on either side of the eager limit, posts of sends and
// receives in unrelated orders, over several streams.
TEST_P(LinkConformance, ManyTagsInAnyOrderMeetTheirOwn) {
  constexpr int kMessages = 400;
  ConnectBoth();
  std::mt19937_64 random(7);
  struct Post {
    int host;
    bool send;
    uint64_t id;
    std::span<std::byte> data;
  };
  std::vector<Post> posts;
  const auto tag_of = [](uint64_t id) {
    return MakeTag(id / 16, static_cast<uint32_t>(id % 16), static_cast<uint32_t>(id % 3));
  };
  for (int sender : {0, 1}) {
    for (uint64_t id = 0; id < kMessages; ++id) {
      const size_t bytes = random() % 4 == 0 ? random() % 40000 : random() % 5000;
      const uint64_t seed = id * 2 + static_cast<uint64_t>(sender);
      posts.push_back({sender, true, id, Filled(bytes, seed)});
      posts.push_back({1 - sender, false, id, Buffer(bytes)});
    }
  }
  std::shuffle(posts.begin(), posts.end(), random);
  for (size_t i = 0; i < posts.size(); ++i) {
    const Post& post = posts[i];
    Link& link = *links_[post.host];
    const uint64_t cookie = post.id * 2 + (post.send ? 1 : 0);
    const Status status = post.send ? link.PostSend(post.data, tag_of(post.id), cookie)
                                    : link.PostRecv(post.data, tag_of(post.id), cookie);
    ASSERT_TRUE(status.ok()) << status.ToString();
    if (i % 20 == 0) fabric_->Step();
  }
  ASSERT_TRUE(StepUntil(
      [&] { return results_[0].size() == 2 * kMessages && results_[1].size() == 2 * kMessages; }));
  for (const auto& results : results_) {
    for (const auto& [cookie, result] : results) EXPECT_EQ(result, OpResult::kOk) << cookie;
  }
  for (const Post& post : posts) {
    const uint64_t sender = static_cast<uint64_t>(post.send ? post.host : 1 - post.host);
    ExpectFilled(post.data, post.id * 2 + sender);
  }
  ExpectQuiet();
}

// The deadlock that credits exist for: far more small messages than slots go out
// before their receives, then the receives are posted in the opposite order.
TEST_P(LinkConformance, MoreEagerMessagesThanSlotsWaitForTheirReceives) {
  constexpr uint64_t kMessages = kEagerSlots * 8;
  ConnectBoth();
  for (int host : {0, 1}) {
    for (uint64_t id = 0; id < kMessages; ++id) {
      ASSERT_TRUE(links_[host]->PostSend(Filled(100 + id, id), MakeTag(id), id).ok());
    }
  }
  for (int i = 0; i < 50; ++i) fabric_->Step();
  std::vector<std::span<std::byte>> in[2];
  for (int host : {0, 1}) {
    for (uint64_t i = 0; i < kMessages; ++i) {
      const uint64_t id = kMessages - 1 - i;
      in[host].push_back(Buffer(100 + id));
      ASSERT_TRUE(links_[host]->PostRecv(in[host].back(), MakeTag(id), 1000 + id).ok());
    }
  }
  for (int host : {0, 1}) {
    for (uint64_t id = 0; id < kMessages; ++id) {
      EXPECT_EQ(Result(host, id), OpResult::kOk);
      EXPECT_EQ(Result(host, 1000 + id), OpResult::kOk);
      ExpectFilled(in[host][kMessages - 1 - id], id);
    }
  }
}

// Slots that were consumed are used again, for as long as the link lives.
TEST_P(LinkConformance, SlotsAreUsedAgain) {
  ConnectBoth();
  const auto out = Filled(64, 1);
  const auto in = Buffer(64);
  for (uint64_t id = 0; id < 40 * kEagerSlots; ++id) {
    ASSERT_TRUE(links_[0]->PostSend(out, MakeTag(id, 0, 5), id).ok());
    ASSERT_TRUE(links_[1]->PostRecv(in, MakeTag(id, 0, 5), id).ok());
    ASSERT_EQ(Result(1, id), OpResult::kOk);
    ASSERT_EQ(Result(0, id), OpResult::kOk);
  }
}

TEST_P(LinkConformance, AFullQueueSaysSoAndTakesMoreAfterwards) {
  ConnectBoth();
  const auto out = Filled(8, 1);
  const auto in = Buffer(8);
  for (uint64_t id = 0; id < kMaxPosts; ++id) {
    ASSERT_TRUE(links_[0]->PostSend(out, MakeTag(id), id).ok());
    ASSERT_TRUE(links_[1]->PostRecv(in, MakeTag(id), id).ok());
  }
  const Status send = links_[0]->PostSend(out, MakeTag(kMaxPosts), kMaxPosts);
  const Status recv = links_[1]->PostRecv(in, MakeTag(kMaxPosts), kMaxPosts);
  EXPECT_EQ(send.code(), StatusCode::kResourceExhausted) << send.ToString();
  EXPECT_EQ(recv.code(), StatusCode::kResourceExhausted) << recv.ToString();
  ASSERT_TRUE(StepUntil(
      [&] { return results_[0].size() == kMaxPosts && results_[1].size() == kMaxPosts; }));
  ASSERT_TRUE(links_[0]->PostSend(out, MakeTag(kMaxPosts), kMaxPosts).ok());
  ASSERT_TRUE(links_[1]->PostRecv(in, MakeTag(kMaxPosts), kMaxPosts).ok());
  EXPECT_EQ(Result(0, kMaxPosts), OpResult::kOk);
  EXPECT_EQ(Result(1, kMaxPosts), OpResult::kOk);
}

// A transport that may be slept on says so: driven by NextDeadline() and
// event_fd() alone (the fabric's Step), nothing is forgotten.
TEST_P(LinkConformance, AnIdleLinkHasNothingToDoAtOnce) {
  ConnectBoth();
  const auto in = Buffer(8);
  ASSERT_TRUE(links_[0]->PostSend(Filled(8, 3), MakeTag(1), 1).ok());
  ASSERT_TRUE(links_[1]->PostRecv(in, MakeTag(1), 1).ok());
  EXPECT_EQ(Result(0, 1), OpResult::kOk);
  EXPECT_EQ(Result(1, 1), OpResult::kOk);
  ExpectQuiet();
  // It may poll a while for more; then it sleeps.
  for (int host : {0, 1}) {
    EXPECT_TRUE(StepUntil([&] {
      const std::optional<Time> deadline = fabric_->transport(host).NextDeadline();
      return !deadline || *deadline > Time{};
    })) << "host "
        << host << " asks to be called again";
  }
}

}  // namespace
}  // namespace reigen::transport
