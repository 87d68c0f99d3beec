#include "proto/control/handshake.h"

#include <gtest/gtest.h>

#include <set>

namespace reigen::control {
namespace {

TEST(HandshakeTest, EveryPartChangesTheProof) {
  std::set<std::string> macs;
  macs.insert(CoordinatorMac("key", "worker", 1, "c", "s"));
  macs.insert(ClientMac("key", "worker", 1, "c", "s"));
  macs.insert(ClientMac("kez", "worker", 1, "c", "s"));
  macs.insert(ClientMac("key", "inspect", 1, "c", "s"));
  macs.insert(ClientMac("key", "worker", 2, "c", "s"));
  macs.insert(ClientMac("key", "worker", 1, "d", "s"));
  macs.insert(ClientMac("key", "worker", 1, "c", "t"));
  macs.insert(ClientMac("key", "worker", 1, "cs", ""));
  EXPECT_EQ(macs.size(), 8u);
  for (const std::string& mac : macs) EXPECT_EQ(mac.size(), kMacBytes);
}

TEST(HandshakeTest, SameMacRefusesAnotherLength) {
  const std::string mac = ClientMac("key", "worker", 1, "c", "s");
  EXPECT_TRUE(SameMac(mac, mac));
  EXPECT_FALSE(SameMac(mac, mac.substr(1)));
  EXPECT_FALSE(SameMac(mac, ""));
}

TEST(HandshakeTest, NoncesAreNeverTheSame) {
  EXPECT_EQ(MakeNonce().size(), kNonceBytes);
  EXPECT_NE(MakeNonce(), MakeNonce());
}

}  // namespace
}  // namespace reigen::control
