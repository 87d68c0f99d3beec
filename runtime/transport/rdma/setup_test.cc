// Goal: set-up messages come out as they went in, and nothing else passes.
#include "runtime/transport/rdma/setup.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/transport/rdma/rdma_limits.h"

namespace reigen::transport::rdma {
namespace {

StatusOr<SetupMessage> Decoded(const std::string& bytes) {
  const auto all = std::as_bytes(std::span(bytes));
  const auto body = SetupBodyBytes(all.first<kSetupHeaderBytes>());
  if (!body.ok()) return body.status();
  EXPECT_EQ(bytes.size(), kSetupHeaderBytes + *body);
  return DecodeSetup(static_cast<uint8_t>(bytes[4]), all.subspan(kSetupHeaderBytes));
}

Offer FullOffer() {
  Offer offer;
  offer.channels = 7;
  for (size_t i = 0; i < kMaxRails; ++i) {
    RailAddress rail;
    rail.device = std::string(kMaxNameBytes, 'd');
    rail.port = static_cast<uint8_t>(255 - i);
    rail.layer = LinkLayer::kInfiniBand;
    rail.gid_type = GidType::kRoceV1;
    rail.gid = *GidOfAddress("10.0.0." + std::to_string(i));
    rail.lid = static_cast<uint16_t>(0xabc0 + i);
    rail.global_only = i % 2 == 1;
    rail.pkey = static_cast<uint16_t>(0x7ff0 + i);
    rail.mtu_bytes = 4096;
    rail.max_message_bytes = 1u << 31;
    rail.max_queues = static_cast<uint8_t>(255 - i);
    offer.rails.push_back(rail);
  }
  for (size_t i = 0; i < kMaxLeftOut; ++i) {
    offer.left_out.push_back({std::string(kMaxNameBytes, 'n'), static_cast<uint8_t>(i)});
    offer.spare.push_back({std::string(kMaxNameBytes, 's'), static_cast<uint8_t>(i)});
  }
  return offer;
}

TEST(SetupTest, EveryMessageComesOutAsItWentIn) {
  const auto offer = Decoded(Encode(FullOffer()));
  ASSERT_TRUE(offer.ok()) << offer.status().ToString();
  EXPECT_EQ(std::get<Offer>(*offer).channels, 7);
  EXPECT_EQ(std::get<Offer>(*offer).rails, FullOffer().rails);
  EXPECT_EQ(std::get<Offer>(*offer).left_out, FullOffer().left_out);
  EXPECT_EQ(std::get<Offer>(*offer).spare, FullOffer().spare);

  Queues queues;
  for (uint32_t i = 0; i <= kMaxChannels; ++i) queues.queues.push_back({i + 1000, 0xffffff - i});
  const auto numbers = Decoded(Encode(queues));
  ASSERT_TRUE(numbers.ok());
  EXPECT_EQ(std::get<Queues>(*numbers).queues.back().number, kMaxChannels + 1000u);
  EXPECT_EQ(std::get<Queues>(*numbers).queues.back().psn, 0xffffffu - kMaxChannels);

  EXPECT_TRUE(std::holds_alternative<Ready>(*Decoded(Encode(Ready()))));
  const auto bye = Decoded(Encode(Bye{std::string(5000, 'x')}));
  ASSERT_TRUE(bye.ok());
  EXPECT_EQ(std::get<Bye>(*bye).reason, std::string(kMaxTextBytes, 'x')) << "cut, not refused";
}

TEST(SetupTest, WhatIsCutOrTooLongIsRefused) {
  for (const SetupMessage& message : {SetupMessage(FullOffer()), SetupMessage(Queues{{{1, 2}}}),
                                      SetupMessage(Bye{"why"})}) {
    const std::string whole = Encode(message);
    const auto body = std::as_bytes(std::span(whole)).subspan(kSetupHeaderBytes);
    const auto kind = static_cast<uint8_t>(whole[4]);
    for (size_t bytes = 0; bytes < body.size(); ++bytes) {
      EXPECT_FALSE(DecodeSetup(kind, body.first(bytes)).ok()) << int{kind} << " " << bytes;
    }
    const std::string longer = whole.substr(kSetupHeaderBytes) + "x";
    EXPECT_FALSE(DecodeSetup(kind, std::as_bytes(std::span(longer))).ok());
  }
  const std::string huge("\xff\xff\xff\x7f\x01", 5);
  EXPECT_FALSE(SetupBodyBytes(std::as_bytes(std::span(huge)).first<kSetupHeaderBytes>()).ok());
  EXPECT_FALSE(DecodeSetup(9, {}).ok());
}

TEST(SetupTest, AnotherVersionIsNamed) {
  std::string bytes = Encode(FullOffer());
  bytes[kSetupHeaderBytes] = 99;
  const Status status = Decoded(bytes).status();
  EXPECT_NE(status.ToString().find("version 99"), std::string::npos) << status.ToString();
}

TEST(SetupTest, NoiseIsRefusedWithoutHarm) {
  std::mt19937 random(1);
  const std::string whole = Encode(FullOffer()).substr(kSetupHeaderBytes);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = whole;
    bytes.resize(random() % (bytes.size() + 1));
    for (int flips = 0; flips < 3 && !bytes.empty(); ++flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    (void)DecodeSetup(static_cast<uint8_t>(random() % 5), std::as_bytes(std::span(bytes)));
  }
}

}  // namespace
}  // namespace reigen::transport::rdma
