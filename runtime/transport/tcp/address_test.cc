#include "runtime/transport/tcp/address.h"

#include <gtest/gtest.h>

namespace reigen::transport {
namespace {

TEST(AddressTest, EndpointsComeBackAsTheyWereWritten) {
  for (const char* text : {"tcp:10.0.0.1:4000", "tcp:[::1]:65535", "tcp:[fe80::1%lo]:1"}) {
    const auto address = ParseEndpoint(text, "tcp");
    ASSERT_TRUE(address.ok()) << address.status().ToString();
    EXPECT_EQ("tcp:" + Format(*address), text);
  }
}

TEST(AddressTest, WhatIsNoEndpointIsRefusedAndShown) {
  for (const char* text :
       {"", "tcp:", "tcp::", "tcp::5", "10.0.0.1:5", "tcp:10.0.0.1", "tcp:10.0.0.1:", "tcp:10.0.0.1:0",
        "tcp:10.0.0.1:65536", "tcp:10.0.0.1:5x", "tcp:10.0.0.1:-5", "tcp:::1:5", "tcp:[::1:5",
        "tcp:[10.0.0.1]:5", "tcp:host:5", "tcp:[fe80::1%absent0]:5", "tcp:10.0.0.256:5"}) {
    const auto address = ParseEndpoint(text, "tcp");
    ASSERT_FALSE(address.ok()) << text;
  }
  EXPECT_NE(ParseEndpoint("tcp:host:5", "tcp").status().ToString().find("'host'"), std::string::npos);
  EXPECT_NE(ParseEndpoint("tcp:[fe80::1%absent0]:5", "tcp").status().ToString().find("'absent0'"),
            std::string::npos);
}

TEST(AddressTest, AnEndpointOfAnotherTransportIsNoneOfThisOne) {
  EXPECT_TRUE(ParseEndpoint("rdma:10.0.0.1:4000", "rdma").ok());
  EXPECT_FALSE(ParseEndpoint("rdma:10.0.0.1:4000", "tcp").ok());
  EXPECT_TRUE(HasScheme("rdma:10.0.0.1:4000", "rdma"));
  EXPECT_FALSE(HasScheme("rdma2:10.0.0.1:4000", "rdma"));
}

TEST(AddressTest, ASocketThatIsGoneHasNoName) {
  EXPECT_EQ(LocalName(-1), "?");
  EXPECT_EQ(PeerName(-1), "?");
}

}  // namespace
}  // namespace reigen::transport
