// Goal: every copy is ordered after the caller's work and before what follows, and
// every CUDA call that fails is a named error that touches nothing else.
#include "client/cuda/device.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cuda/testing/fake_driver.h"

namespace reigen::sdk::cuda {
namespace {

class DeviceTest : public testing::Test {
 protected:
  DeviceTest() { EXPECT_TRUE(Device::Open(&driver_.api(), 0, &device_).ok()); }

  static Layout Of(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
    uint64_t count = 1;
    for (const int64_t extent : shape) count *= static_cast<uint64_t>(extent);
    Layout layout;
    EXPECT_TRUE(Layout::Make(shape, strides, sizeof(float), count, "x", &layout).ok());
    return layout;
  }
  Copy CopyOf(CuAddress address, std::vector<float>& host, const Layout& layout) {
    return {.device = address, .host = reinterpret_cast<std::byte*>(host.data()),
            .bytes = host.size() * sizeof(float), .layout = &layout};
  }
  // device -> host, as a trainer that has just launched its kernels.
  Result Fetch(const Copy& copy) {
    std::unique_ptr<Device::Event> begin;
    REIGEN_SDK_RETURN_IF_ERROR(device_->Mark(stream_, &begin));
    return device_->ToHost(*begin, {&copy, 1});
  }

  FakeDriver driver_;
  CuStream stream_ = driver_.NewStream();
  std::shared_ptr<Device> device_;
};

TEST_F(DeviceTest, AFetchSeesWhatTheCallersStreamWasGivenBefore) {
  const CuAddress memory = driver_.Allocate(16);
  driver_.Write(memory, {1, 2, 3, 4}, stream_);
  std::vector<float> host(4);
  ASSERT_TRUE(Fetch(CopyOf(memory, host, Of({4}, {}))).ok());
  EXPECT_EQ(host, (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(DeviceTest, TheCallersStreamGoesOnAfterTheResult) {
  const CuAddress memory = driver_.Allocate(8);
  std::vector<float> host = {5, 6};
  ASSERT_TRUE(device_->Pin(host.data(), 8).ok());
  const Layout layout = Of({2}, {});
  const Copy copy = CopyOf(memory, host, layout);
  std::unique_ptr<Device::Event> end;
  ASSERT_TRUE(device_->ToDevice({&copy, 1}, stream_, &end).ok());
  EXPECT_EQ(driver_.Read(memory, 2, stream_), (std::vector<float>{5, 6}));
  EXPECT_TRUE(end->Wait().ok());
  device_->Unpin(host.data());
  EXPECT_EQ(driver_.registered(), 0);
}

TEST_F(DeviceTest, AStridedTensorIsPackedInItsLogicalOrder) {
  const CuAddress memory = driver_.Allocate(24);
  driver_.Write(memory, {1, 2, 3, 4, 5, 6}, stream_);
  const Layout transposed = Of({3, 2}, {4, 12});
  std::vector<float> host(6);
  Copy copy = CopyOf(memory, host, transposed);
  ASSERT_TRUE(Fetch(copy).ok());
  EXPECT_EQ(host, (std::vector<float>{1, 4, 2, 5, 3, 6}));
  for (float& value : host) value *= 10;
  std::unique_ptr<Device::Event> end;
  ASSERT_TRUE(device_->ToDevice({&copy, 1}, stream_, &end).ok());
  EXPECT_EQ(driver_.Read(memory, 6, stream_), (std::vector<float>{10, 20, 30, 40, 50, 60}));
}

TEST_F(DeviceTest, EveryCallThatFailsIsNamedAndTheNextOneWorks) {
  const CuAddress memory = driver_.Allocate(8);
  const Layout layout = Of({2}, {});
  for (const char* symbol : {"cuCtxPushCurrent_v2", "cuEventCreate", "cuEventRecord",
                             "cuStreamWaitEvent", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"}) {
    driver_.FailOnce(symbol, 304);
    std::vector<float> host(2);
    const Result failed = Fetch(CopyOf(memory, host, layout));
    EXPECT_EQ(failed.code, REIGEN_INTERNAL) << symbol;
    EXPECT_NE(failed.text.find(std::string(symbol).substr(0, 10)), std::string::npos)
        << failed.text;
    EXPECT_TRUE(Fetch(CopyOf(memory, host, layout)).ok()) << symbol;
  }
  for (const char* symbol : {"cuCtxPushCurrent_v2", "cuEventCreate", "cuEventRecord",
                             "cuStreamWaitEvent", "cuMemcpyHtoDAsync_v2"}) {
    std::vector<float> host(2);
    const Copy copy = CopyOf(memory, host, layout);
    std::unique_ptr<Device::Event> end;
    driver_.FailOnce(symbol, 304);
    EXPECT_FALSE(device_->ToDevice({&copy, 1}, stream_, &end).ok()) << symbol;
    EXPECT_TRUE(device_->ToDevice({&copy, 1}, stream_, &end).ok()) << symbol;
  }
}

TEST_F(DeviceTest, AStickyErrorIsKeptWithTheCallThatSawItFirst) {
  const CuAddress memory = driver_.Allocate(8);
  const Layout layout = Of({2}, {});
  std::vector<float> host(2);
  driver_.FailOnce("cuMemcpyDtoHAsync_v2", kCuIllegalAddress);
  const Result first = Fetch(CopyOf(memory, host, layout));
  EXPECT_EQ(first.code, REIGEN_UNAVAILABLE);
  EXPECT_EQ(first.text,
            "CUDA device 0: cuMemcpyDtoHAsync: CUDA_ERROR_ILLEGAL_ADDRESS "
            "(an illegal memory access was encountered)");
  const Result second = device_->Pin(host.data(), 8);
  EXPECT_EQ(second.text, first.text);
  EXPECT_EQ(Fetch(CopyOf(memory, host, layout)).text, first.text);
}

TEST_F(DeviceTest, ADeviceThatCannotBeOpenedSaysWhy) {
  for (const char* symbol : {"cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuStreamCreateWithPriority",
                             "cuCtxGetStreamPriorityRange"}) {
    driver_.FailOnce(symbol, 2);
    std::shared_ptr<Device> device;
    const Result opened = Device::Open(&driver_.api(), 1, &device);
    EXPECT_EQ(opened.code, REIGEN_RESOURCE_EXHAUSTED);
    EXPECT_NE(opened.text.find(std::string("CUDA device 1: ") + symbol), std::string::npos)
        << opened.text;
  }
}

}  // namespace
}  // namespace reigen::sdk::cuda
