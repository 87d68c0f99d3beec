#include "coordinator/config.h"

#include <gtest/gtest.h>

namespace reigen::coordinator {
namespace {

launch::CoordinatorStart Good() {
  launch::CoordinatorStart start;
  start.set_job("j");
  start.set_secret(std::string(32, 's'));
  start.add_listen_addresses("127.0.0.1");
  for (int host : {0, 1}) {
    launch::HostSlots& slots = *start.add_hosts();
    slots.set_host(host);
    slots.add_ranks(2 * host);
    slots.add_ranks(2 * host + 1);
  }
  start.mutable_options()->set_stall_warning_seconds(1.5);
  return start;
}

TEST(ConfigTest, ZeroFieldsGetTheirDefaults) {
  const auto options = OptionsFrom(Good());
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->config.hosts[1].ranks, (std::vector<int>{2, 3}));
  EXPECT_EQ(options->config.stall_warning, milliseconds(1500));
  EXPECT_EQ(options->config.dead_after, seconds(3));
  EXPECT_EQ(options->config.heartbeat, milliseconds(200));
  EXPECT_EQ(options->config.wire_precision, WirePrecision::kAuto);
  EXPECT_GT(options->config.segment_bytes, 0u);
}

TEST(ConfigTest, TheTimeoutScaleIsOfTheTimesThatAreNotTold) {
  launch::CoordinatorStart start = Good();
  EXPECT_EQ(OptionsFrom(start)->handshake_time, kHandshakeTime);
  start.mutable_options()->set_timeout_scale(2.5);
  const auto options = OptionsFrom(start);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->handshake_time, 2.5 * kHandshakeTime);
  EXPECT_EQ(options->end_time, 2.5 * kEndTime);
  EXPECT_EQ(options->config.stall_grace, 2.5 * kStallGrace);
  EXPECT_EQ(options->config.dead_after, seconds(3)) << "told, and scaled by who told it";
  start.mutable_options()->set_timeout_scale(0.01);
  EXPECT_EQ(OptionsFrom(start)->handshake_time, kHandshakeTime);
  EXPECT_EQ(OptionsFrom(start)->end_time, 0.01 * kEndTime);
  start.mutable_options()->set_timeout_scale(1e30);
  EXPECT_FALSE(OptionsFrom(start).ok());
}

TEST(ConfigTest, WhatCannotBeIsRefused) {
  launch::CoordinatorStart start = Good();
  start.set_secret("short");
  EXPECT_FALSE(OptionsFrom(start).ok());
  start = Good();
  start.clear_hosts();
  EXPECT_FALSE(OptionsFrom(start).ok());
  start = Good();
  start.mutable_hosts(1)->set_ranks(0, 1);
  EXPECT_FALSE(OptionsFrom(start).ok());
  start = Good();
  start.mutable_hosts(1)->set_ranks(1, 7);
  EXPECT_FALSE(OptionsFrom(start).ok());
  start = Good();
  start.mutable_hosts(1)->set_host(0);
  EXPECT_FALSE(OptionsFrom(start).ok());
  start = Good();
  start.mutable_options()->set_wire_precision("double");
  EXPECT_FALSE(OptionsFrom(start).ok());
  start = Good();
  start.mutable_options()->set_stall_warning_seconds(-1);
  EXPECT_FALSE(OptionsFrom(start).ok());
}

}  // namespace
}  // namespace reigen::coordinator
