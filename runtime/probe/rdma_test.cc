#include "runtime/probe/rdma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "runtime/probe/testing/tree.h"
#include "runtime/transport/rdma/fake/fake_fabric.h"

namespace reigen::probe {
namespace {

using testing::ElementsAre;
using transport::rdma::FakeFabric;
using transport::rdma::Verbs;

// The kernel's view of one device on PCI.
void AddToKernel(Tree& tree, const std::string& name, int number, bool node) {
  const std::string folder = "/sys/class/infiniband/" + name;
  tree.Link(folder + "/device", "../../../0000:3B:00." + std::to_string(number));
  tree.File(folder + "/ports/1/gid_attrs/ndevs/0", "eth" + std::to_string(number) + "\n");
  tree.File(folder + "/ports/1/gid_attrs/ndevs/1", "eth" + std::to_string(number) + "\n");
  const std::string uverbs = "uverbs" + std::to_string(number);
  tree.File("/sys/class/infiniband_verbs/" + uverbs + "/ibdev", name + "\n");
  if (node) tree.File("/dev/infiniband/" + uverbs, "");
}

TEST(RdmaProbeTest, WithoutDevicesThereIsNothingAndNoError) {
  const Tree tree("none");
  FakeFabric fabric;
  const RdmaFacts facts = ProbeRdma(tree.root(), fabric.VerbsOf(0));
  EXPECT_TRUE(facts.devices.empty());
  EXPECT_EQ(facts.list_error, "");
}

TEST(RdmaProbeTest, ADeviceIsWhatKernelAndLibrarySay) {
  Tree tree("one");
  AddToKernel(tree, "mlx5_0", 0, true);
  FakeFabric fabric;
  fabric.AddDevice(0, "mlx5_0", "10.0.0.1");
  fabric.device("mlx5_0").dmabuf = true;
  const RdmaFacts facts = ProbeRdma(tree.root(), fabric.VerbsOf(0));
  ASSERT_EQ(facts.devices.size(), 1u);
  const RdmaDeviceFacts& device = facts.devices[0];
  EXPECT_EQ(device.node, tree.root() + "/dev/infiniband/uverbs0");
  EXPECT_EQ(device.node_error, "");
  EXPECT_TRUE(device.in_library);
  EXPECT_EQ(device.open_error, "");
  EXPECT_EQ(device.info.ports.size(), 1u);
  EXPECT_TRUE(device.registers_dmabuf);
  EXPECT_THAT(device.interfaces, ElementsAre("eth0"));
  EXPECT_EQ(device.bus_id, "0000:3b:00.0");
  EXPECT_EQ(fabric.registrations(), 0u);
}

TEST(RdmaProbeTest, ADeviceWithoutDmabufSaysSo) {
  const Tree tree("rxe");
  FakeFabric fabric;
  fabric.AddDevice(0, "rxe0", "10.0.0.1");
  const RdmaFacts facts = ProbeRdma(tree.root(), fabric.VerbsOf(0));
  ASSERT_EQ(facts.devices.size(), 1u);
  EXPECT_FALSE(facts.devices[0].registers_dmabuf);
  EXPECT_EQ(facts.devices[0].bus_id, "");
}

TEST(RdmaProbeTest, WhatIsMissingIsToldApart) {
  Tree tree("broken");
  AddToKernel(tree, "mlx5_0", 0, false);  // no node in this container
  AddToKernel(tree, "mlx5_1", 1, true);   // unknown to the library
  AddToKernel(tree, "mlx5_2", 2, true);
  AddToKernel(tree, "mlx5_3", 3, true);  // speaks another protocol
  FakeFabric fabric;
  fabric.AddDevice(0, "mlx5_3", "10.0.0.4").open_status = FailedPrecondition("it speaks iWARP");
  fabric.AddDevice(0, "mlx5_0", "10.0.0.1").open_status = Unavailable("ibv_open_device mlx5_0");
  fabric.AddDevice(0, "mlx5_1", "10.0.0.2").open_status = NotFound("libibverbs does not list it");
  fabric.AddDevice(0, "mlx5_2", "10.0.0.3");
  const RdmaFacts facts = ProbeRdma(tree.root(), fabric.VerbsOf(0));
  ASSERT_EQ(facts.devices.size(), 4u);
  EXPECT_EQ(facts.devices[0].node_error, "No such file or directory");
  EXPECT_EQ(facts.devices[0].open_error, "ibv_open_device mlx5_0");
  EXPECT_FALSE(facts.devices[1].in_library);
  EXPECT_TRUE(facts.devices[2].in_library);
  EXPECT_EQ(facts.devices[2].not_for_links, "");
  EXPECT_EQ(facts.devices[3].not_for_links, "it speaks iWARP");
  EXPECT_EQ(facts.devices[3].open_error, "");
}

TEST(RdmaProbeTest, ALibraryThatSaysNothingLeavesTheKernelsView) {
  Tree tree("library");
  AddToKernel(tree, "mlx5_0", 0, true);
  const RdmaFacts facts =
      ProbeRdma(tree.root(), StatusOr<std::unique_ptr<Verbs>>(Unavailable("no library")));
  EXPECT_EQ(facts.list_error, "no library");
  ASSERT_EQ(facts.devices.size(), 1u);
  EXPECT_FALSE(facts.devices[0].in_library);
}

}  // namespace
}  // namespace reigen::probe
