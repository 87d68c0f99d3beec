#include "runtime/probe/pci.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/base/status.h"
#include "runtime/probe/sysfs.h"

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

}  // namespace
}  // namespace reigen::probe
