#include "runtime/probe/network.h"

#include <gtest/gtest.h>

#include "runtime/probe/testing/tree.h"

namespace reigen::probe {
namespace {

TEST(NetworkProbeTest, InterfacesThatAreDownAreListedToo) {
  Tree tree("net");
  tree.File("/sys/class/net/eth0/operstate", "up\n");
  tree.File("/sys/class/net/eth0/speed", "100000\n");
  tree.File("/sys/class/net/eth0/mtu", "9000\n");
  tree.Link("/sys/class/net/eth0/device/driver", "../../../bus/pci/drivers/mlx5_core");
  tree.File("/sys/class/net/eth1/operstate", "down\n");
  tree.File("/sys/class/net/eth1/speed", "-1\n");
  tree.File("/sys/class/net/eth1/mtu", "1500\n");
  tree.File("/sys/class/net/bonding_masters", "bond0\n");
  const std::vector<InterfaceFacts> found = ReadInterfaces(tree.root());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "eth0");
  EXPECT_EQ(found[0].state, "up");
  EXPECT_EQ(found[0].mbits_per_s, 100000);
  EXPECT_EQ(found[0].mtu_bytes, 9000);
  EXPECT_EQ(found[0].driver, "mlx5_core");
  EXPECT_EQ(found[1].state, "down");
  EXPECT_EQ(found[1].mbits_per_s, std::nullopt);
  EXPECT_EQ(found[1].driver, "");
}

TEST(NetworkProbeTest, ThisMachineHasAnInterface) {
  const NetworkFacts facts = ProbeNetwork();
  EXPECT_EQ(facts.error, "");
  EXPECT_FALSE(facts.addresses.empty());
}

}  // namespace
}  // namespace reigen::probe
