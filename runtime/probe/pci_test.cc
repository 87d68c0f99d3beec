#include "runtime/probe/pci.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/base/status.h"
#include "runtime/probe/sysfs.h"
#include "runtime/probe/testing/tree.h"

namespace reigen::probe {
namespace {

TEST(PciProbeTest, NothingWantedIsNothingFound) {
  const auto none = ProbePci({});
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
}

TEST(PciProbeTest, DevicesOfThisMachineHaveAPlaceBelowItsRootComplex) {
  const std::vector<std::string> ids = Entries("/sys/bus/pci/devices");
  std::vector<std::string> wanted = ids;
  wanted.push_back("ffff:ff:1f.7");
  const auto devices = ProbePci(wanted);
  ASSERT_TRUE(devices.ok()) << Message(devices.status());
  EXPECT_LE(devices->size(), ids.size());
  for (const PciDevice& device : *devices) {
    ASSERT_FALSE(device.place.bridges.empty()) << device.place.bus_id;
    // The kernel has the same way in the device's path.
    const std::string path = std::filesystem::canonical("/sys/bus/pci/devices/" +
                                                        device.place.bus_id);
    EXPECT_NE(path.find("/" + device.place.bridges[0] + "/"), std::string::npos) << path;
    for (size_t i = 1; i < device.place.bridges.size(); ++i) {
      EXPECT_NE(path.find("/" + device.place.bridges[i] + "/"), std::string::npos) << path;
    }
  }
}

TEST(PciProbeTest, GpusAreDisplayControllersOfNvidia) {
  Tree tree("gpus");
  const struct {
    const char* id;
    const char* vendor;
    const char* kind;
  } kDevices[] = {{"0000:3b:00.0", "0x10de", "0x030200"},   // H100
                  {"0000:3b:00.1", "0x10de", "0x040300"},   // its audio
                  {"0000:5e:00.0", "0x15b3", "0x020000"},   // ConnectX
                  {"0000:86:00.0", "0x10de", "0x030000"}};  // a card with a screen
  for (const auto& device : kDevices) {
    const std::string folder = std::string("/sys/bus/pci/devices/") + device.id;
    tree.File(folder + "/vendor", std::string(device.vendor) + "\n");
    tree.File(folder + "/class", std::string(device.kind) + "\n");
  }
  EXPECT_THAT(GpuBusIds(tree.root()), testing::ElementsAre("0000:3b:00.0", "0000:86:00.0"));
}

}  // namespace
}  // namespace reigen::probe
