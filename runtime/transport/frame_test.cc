// Goal: a header comes back as it was written, and nonsense is refused.
#include "runtime/transport/frame.h"

#include <gtest/gtest.h>

#include "runtime/transport/link_limits.h"

namespace reigen::transport {
namespace {

Frame Full(FrameKind kind) {
  Frame frame;
  frame.kind = kind;
  frame.acks = 0xbeef;
  frame.ack_stream = 0xfffffffe;
  frame.length = 4000;
  frame.tag = {.collective = {.epoch = 0x0123456789abcdef, .sequence = ~0ull, .stream = 7},
               .step = 1,
               .chunk = 0x80000000,
               .segment = 3};
  return frame;
}

TEST(FrameTest, EveryFieldOfEveryKindComesBack) {
  for (uint8_t kind = 1; kind <= 7; ++kind) {
    const Frame frame = Full(static_cast<FrameKind>(kind));
    const auto back = DecodeFrame(EncodeFrame(frame));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(back->kind, frame.kind);
    EXPECT_EQ(back->acks, frame.acks);
    EXPECT_EQ(back->ack_stream, frame.ack_stream);
    EXPECT_EQ(back->length, frame.length);
    EXPECT_EQ(back->tag, frame.tag);
  }
}

TEST(TagTest, PeopleReadItsEpochAsIncarnationAndCounter) {
  const Tag tag = {.collective = {.epoch = MakeEpoch(1, 2), .sequence = 5, .stream = 3}, .step = 1};
  EXPECT_EQ(ToString(tag), "epoch 1.2 stream 3 sequence 5 step 1 chunk 0 segment 0");
}

TEST(FrameTest, OnlyEagerAndDataCarryBytes) {
  EXPECT_EQ(Full(FrameKind::kEager).PayloadBytes(), 4000u);
  EXPECT_EQ(Full(FrameKind::kData).PayloadBytes(), 4000u);
  EXPECT_EQ(Full(FrameKind::kCredit).PayloadBytes(), 0u);
}

TEST(FrameTest, UnknownKindsAndLengthsThatAreTooLargeAreRefused) {
  FrameBytes bytes = EncodeFrame(Full(FrameKind::kCredit));
  for (int kind : {0, 8, 255}) {
    bytes[0] = static_cast<std::byte>(kind);
    EXPECT_FALSE(DecodeFrame(bytes).ok()) << kind;
  }
  bytes = EncodeFrame(Full(FrameKind::kCredit));
  bytes[1] = std::byte{0};
  EXPECT_FALSE(DecodeFrame(bytes).ok());

  Frame frame = Full(FrameKind::kEager);
  frame.length = kEagerBytes + 1;
  EXPECT_FALSE(DecodeFrame(EncodeFrame(frame)).ok());
  frame.kind = FrameKind::kData;
  EXPECT_TRUE(DecodeFrame(EncodeFrame(frame)).ok());
  frame.length = kMaxMessageBytes + 1;
  const auto refused = DecodeFrame(EncodeFrame(frame));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().ToString().find("chunk 2147483648"), std::string::npos);
}

}  // namespace
}  // namespace reigen::transport
