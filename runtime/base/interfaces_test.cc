#include "runtime/base/interfaces.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reigen {
namespace {

using Addresses = std::vector<std::string>;

const InterfaceAddress kLo{.interface = "lo", .address = "127.0.0.1", .loopback = true};
const InterfaceAddress kLo6{.interface = "lo", .address = "::1", .loopback = true};
const InterfaceAddress kDocker{.interface = "docker0", .address = "172.17.0.1"};
const InterfaceAddress kEth{.interface = "eth0", .address = "10.1.0.5"};
const InterfaceAddress kEth6{.interface = "eth0", .address = "fd00::5"};
const InterfaceAddress kEthLinkLocal{.interface = "eth0", .address = "fe80::5%eth0"};
const InterfaceAddress kBond{.interface = "bond0", .address = "192.168.7.5"};

Addresses Choose(const std::vector<InterfaceAddress>& all, const Addresses& networks = {}) {
  auto chosen = ChooseAddresses(all, networks, "hosty");
  EXPECT_TRUE(chosen.ok()) << chosen.status();
  return chosen.ok() ? chosen->addresses : Addresses{};
}

TEST(ChooseAddressesTest, NeverLoopbackNorContainerInterfaces) {
  InterfaceAddress leg{.interface = "tap1", .address = "10.9.9.9", .bridge_port = true};
  InterfaceAddress bridge{.interface = "br-8a6f", .address = "172.18.0.1"};
  InterfaceAddress virtual_machines{.interface = "virbr0", .address = "192.168.122.1"};
  EXPECT_EQ(Choose({kLo, kDocker, bridge, virtual_machines, leg, kEth}), (Addresses{"10.1.0.5"}));
}

TEST(ChooseAddressesTest, KeepsTheOrderAndBothFamilies) {
  EXPECT_EQ(Choose({kLo, kBond, kEth, kEth6}), (Addresses{"192.168.7.5", "10.1.0.5", "fd00::5"}));
}

TEST(ChooseAddressesTest, AnAddressOfIpv6AloneWillDo) {
  EXPECT_EQ(Choose({kLo6, kEth6, kEthLinkLocal}), (Addresses{"fd00::5"}));
}

TEST(ChooseAddressesTest, LinkLocalOnlyWhenThereIsNothingElse) {
  EXPECT_EQ(Choose({kLo, kEth, kEthLinkLocal}), (Addresses{"10.1.0.5"}));
  EXPECT_EQ(Choose({kLo, kDocker, kEthLinkLocal}), (Addresses{"fe80::5%eth0"}));
}

TEST(ChooseAddressesTest, NetworksOverrideByNameOrCidr) {
  const std::vector<InterfaceAddress> all = {kLo, kDocker, kEth, kEth6, kBond};
  EXPECT_EQ(Choose(all, {"eth0"}), (Addresses{"10.1.0.5", "fd00::5"}));
  EXPECT_EQ(Choose(all, {"192.168.0.0/16", "ens5"}), (Addresses{"192.168.7.5"}));
  EXPECT_EQ(Choose(all, {"lo"}), (Addresses{"127.0.0.1"}));
  EXPECT_EQ(Choose(all, {"fd00::/8"}), (Addresses{"fd00::5"}));
}

TEST(ChooseAddressesTest, AnAbsentInterfaceIsNamedWithItsHost) {
  const auto absent = ChooseAddresses({kLo, kEth}, {"ib0"}, "hosty");
  EXPECT_EQ(absent.status().code(), StatusCode::kNotFound);
  for (const char* part : {"hosty", "ib0", "eth0"}) {
    EXPECT_NE(Message(absent.status()).find(part), std::string::npos) << absent.status();
  }
  EXPECT_FALSE(ChooseAddresses({kLo, kDocker}, {}, "hosty").ok());
}

TEST(InNetworkTest, ComparesThePrefix) {
  EXPECT_TRUE(*InNetwork("10.1.2.3", "10.0.0.0/8"));
  EXPECT_FALSE(*InNetwork("11.1.2.3", "10.0.0.0/8"));
  EXPECT_TRUE(*InNetwork("192.168.1.129", "192.168.1.128/25"));
  EXPECT_FALSE(*InNetwork("192.168.1.127", "192.168.1.128/25"));
  EXPECT_TRUE(*InNetwork("1.2.3.4", "0.0.0.0/0"));
  EXPECT_FALSE(*InNetwork("fd00::1", "0.0.0.0/0"));
  EXPECT_TRUE(*InNetwork("fe80::1%eth0", "fe80::/10"));
  for (const char* bad : {"10.0.0.0", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "10.0.0.0/x", "/8"}) {
    EXPECT_FALSE(InNetwork("10.1.2.3", bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace reigen
