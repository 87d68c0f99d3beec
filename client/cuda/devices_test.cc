#include "client/cuda/devices.h"

#include <gtest/gtest.h>

#include <string>

#include "client/cuda/load_driver.h"
#include "client/cuda/testing/fake_driver.h"

namespace reigen::sdk::cuda {
namespace {

TEST(LoadDriverTest, AMachineWithoutADriverIsAnError) {
  DriverApi api;
  const Result loaded = LoadDriver("libcuda-that-is-not-here.so.1", &api);
  EXPECT_EQ(loaded.code, REIGEN_FAILED_PRECONDITION);
  EXPECT_NE(loaded.text.find("no CUDA driver on this machine"), std::string::npos);
}

TEST(LoadDriverTest, ADriverThatLacksAFunctionIsNamed) {
  DriverApi api;
  const Result loaded = LoadDriver("libm.so.6", &api);
  EXPECT_EQ(loaded.text, "the CUDA driver is too old: libm.so.6 lacks cuInit");
}

TEST(DevicesTest, OnlyVisibleDevicesAreThere) {
  setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  Devices devices{DeviceOptions()};
  std::shared_ptr<Device> first;
  std::shared_ptr<Device> again;
  EXPECT_TRUE(devices.Get(0, &first).ok());
  EXPECT_TRUE(devices.Get(0, &again).ok());
  EXPECT_EQ(first, again);
  const Result missing = devices.Get(1, &again);
  EXPECT_EQ(missing.code, REIGEN_INVALID_ARGUMENT);
  EXPECT_EQ(missing.text, "no CUDA device 1: this process sees 1 (CUDA_VISIBLE_DEVICES)");
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(DevicesTest, MemoryTellsItsDevice) {
  FakeDriver driver;
  Devices devices{DeviceOptions()};
  int ordinal = -1;
  EXPECT_TRUE(devices.OrdinalOf(driver.Allocate(64), &ordinal).ok());
  EXPECT_EQ(ordinal, 0);
  const FakeDriver second(1);
  EXPECT_TRUE(devices.OrdinalOf(driver.Allocate(64), &ordinal).ok());
  EXPECT_EQ(ordinal, 1);
  EXPECT_TRUE(devices.OrdinalOf(0, &ordinal).ok());
  EXPECT_EQ(devices.OrdinalOf(4096, &ordinal).code, REIGEN_INVALID_ARGUMENT);
}

TEST(DevicesTest, ADriverThatDoesNotStartSaysWhy) {
  FakeDriver driver;
  driver.FailOnce("cuInit", kCuNoDevice);
  Devices devices{DeviceOptions()};
  std::shared_ptr<Device> device;
  const Result failed = devices.Get(0, &device);
  EXPECT_EQ(failed.code, REIGEN_FAILED_PRECONDITION);
  EXPECT_NE(failed.text.find("cuInit"), std::string::npos);
}

}  // namespace
}  // namespace reigen::sdk::cuda
