// A device over the fake driver, with its kernels, for tests.
#ifndef REIGEN_CLIENT_CUDA_TESTING_DEVICE_FIXTURE_H_
#define REIGEN_CLIENT_CUDA_TESTING_DEVICE_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/c/layout.h"
#include "client/cuda/device.h"
#include "client/cuda/testing/fake_driver.h"

namespace reigen::sdk::cuda {

class FakeDeviceTest : public testing::Test {
 protected:
  FakeDeviceTest() {
    options_.api = &driver_.api();
    options_.image = std::as_bytes(std::span(kImage));
    options_.report = [this](const std::string& line) { reports_.push_back(line); };
    EXPECT_TRUE(Device::Open(options_, 0, &device_).ok());
  }
  void OpenWithoutKernels() {
    options_.image = {};
    EXPECT_TRUE(Device::Open(options_, 0, &device_).ok());
  }

  static Layout Of(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
    uint64_t count = 1;
    for (const int64_t extent : shape) count *= static_cast<uint64_t>(extent);
    Layout layout;
    EXPECT_TRUE(Layout::Make(shape, strides, sizeof(float), count, "x", &layout).ok());
    return layout;
  }
  std::unique_ptr<DeviceRange> Allocate(size_t bytes) {
    std::unique_ptr<DeviceRange> range;
    const Result allocated = device_->Allocate(bytes, &range);
    EXPECT_TRUE(allocated.ok()) << allocated.text;
    return range;
  }
  // What was started comes before the stream's next work: as a trainer that waited.
  Result Joined(Result started, const std::unique_ptr<Device::Event>& end) {
    if (!started.ok()) return started;
    return device_->Follow(stream_, *end);
  }
  int Calls(const char* symbol) { return driver_.calls(symbol); }

  // To the fake, whatever nvcc made.
  static constexpr uint32_t kImage[4] = {0xba55ed50};

  FakeDriver driver_;
  CuStream stream_ = driver_.NewStream();
  std::vector<std::string> reports_;
  DeviceOptions options_;
  std::shared_ptr<Device> device_;
};

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_TESTING_DEVICE_FIXTURE_H_
