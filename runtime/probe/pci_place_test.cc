#include "runtime/probe/pci_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/gpudirect/distance.h"
#include "runtime/probe/testing/tree.h"

namespace reigen::probe {
namespace {

void AddDevice(Tree& tree, const std::string& way, const std::string& id,
               const std::string& group) {
  tree.File("/sys/devices/" + way + "/" + id + "/numa_node", "0\n");
  tree.Link("/sys/bus/pci/devices/" + id, "../../../devices/" + way + "/" + id);
  tree.File("/sys/kernel/iommu_groups/" + group + "/type", "DMA-FQ\n");
  tree.Link("/sys/devices/" + way + "/" + id + "/iommu_group",
            tree.root() + "/sys/kernel/iommu_groups/" + group);
}

TEST(PciPlaceTest, TheWayIsThatOfTheKernelsFolders) {
  Tree tree("place");
  AddDevice(tree, "pci0000:00/0000:00:01.0/0000:01:00.0", "0000:3b:00.0", "17");
  const PciDevice device = ReadPciDevice(tree.root(), "00000000:3B:00.0");
  EXPECT_EQ(device.place.bus_id, "0000:3b:00.0");
  EXPECT_THAT(device.place.bridges,
              testing::ElementsAre("pci0000:00", "0000:00:01.0", "0000:01:00.0"));
  EXPECT_EQ(device.place.numa_node, 0);
  EXPECT_EQ(device.iommu_group, "17");
  EXPECT_EQ(device.iommu_group_type, "DMA-FQ");
}

TEST(PciPlaceTest, TwoBelowOneSwitchAreNear) {
  Tree tree("near");
  const std::string bridge = "pci0000:00/0000:00:01.0/0000:01:00.0/";
  AddDevice(tree, bridge + "0000:02:00.0", "0000:3b:00.0", "1");
  AddDevice(tree, bridge + "0000:02:04.0", "0000:5e:00.0", "2");
  tree.Link("/sys/class/infiniband/mlx5_0/device", "../../../devices/" + bridge +
                                                       "0000:02:04.0/0000:5e:00.0");
  EXPECT_EQ(RdmaBusId(tree.root(), "mlx5_0"), "0000:5e:00.0");
  EXPECT_EQ(DistanceOf(ReadPciDevice(tree.root(), "0000:3b:00.0").place,
                       ReadPciDevice(tree.root(), "0000:5e:00.0").place),
            gpudirect::Distance::kSameSwitch);
}

TEST(PciPlaceTest, DevicesWithAnActivePortAreFound) {
  Tree tree("active");
  tree.File("/sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
  tree.File("/sys/class/infiniband/mlx5_1/ports/2/state", "4: ACTIVE\n");
  tree.File("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  tree.File("/sys/class/infiniband/mlx5_2/ports/1/state", "1: DOWN\n");
  EXPECT_THAT(ActiveRdmaDevices(tree.root()), testing::ElementsAre("mlx5_0", "mlx5_1"));
  EXPECT_THAT(ActiveRdmaDevices(tree.root() + "/none"), testing::IsEmpty());
}

TEST(PciPlaceTest, WhatIsNotThereIsNowhere) {
  Tree tree("nowhere");
  EXPECT_TRUE(ReadPciDevice(tree.root(), "0000:3b:00.0").place.bridges.empty());
  EXPECT_TRUE(ReadPciDevice(tree.root(), "").place.bus_id.empty());
  EXPECT_EQ(RdmaBusId(tree.root(), "rxe0"), "");
  tree.Link("/sys/class/infiniband/rxe0/device", "../../../devices/virtual");
  EXPECT_EQ(RdmaBusId(tree.root(), "rxe0"), "");
  EXPECT_EQ(DistanceOf(ReadPciDevice(tree.root(), "").place,
                       ReadPciDevice(tree.root(), "").place),
            gpudirect::Distance::kUnknown);
}

}  // namespace
}  // namespace reigen::probe
