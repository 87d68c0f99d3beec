// Goal: every copy is ordered after the caller's work and before what follows, and
// every CUDA call that fails is a named error that touches nothing else.
#include "client/cuda/device.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "client/cuda/testing/device_fixture.h"

namespace reigen::sdk::cuda {
namespace {

class DeviceTest : public FakeDeviceTest {
 protected:
  Copy CopyOf(CuAddress address, std::vector<float>& host, const Layout& layout) {
    return {.device = address, .host = reinterpret_cast<std::byte*>(host.data()),
            .bytes = host.size() * sizeof(float), .layout = &layout};
  }
  // device -> host, as a trainer that has just launched its kernels.
  Result Fetch(std::span<const Copy> copies) {
    std::unique_ptr<Device::Event> begin;
    REIGEN_SDK_RETURN_IF_ERROR(device_->Mark(stream_, &begin));
    REIGEN_SDK_RETURN_IF_ERROR(begin->Wait());
    return FetchReady(copies);
  }
  Result FetchReady(std::span<const Copy> copies) {
    std::unique_ptr<Device::Event> end;
    REIGEN_SDK_RETURN_IF_ERROR(device_->StartToHost(copies, pinned_, &end));
    return end->Wait();
  }
  Result Fetch(const Copy& copy) { return Fetch({&copy, 1}); }

  bool pinned_ = true;
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
  ASSERT_TRUE(device_->Pin(host.data(), 8));
  const Layout layout = Of({2}, {});
  const Copy copy = CopyOf(memory, host, layout);
  std::unique_ptr<Device::Event> end;
  ASSERT_TRUE(Joined(device_->ToDevice({&copy, 1}, &end), end).ok());
  EXPECT_EQ(driver_.Read(memory, 2, stream_), (std::vector<float>{5, 6}));
  EXPECT_TRUE(end->Wait().ok());
  device_->Unpin(host.data());
  EXPECT_EQ(driver_.registered(), 0);
}

TEST_F(DeviceTest, AStridedTensorIsPackedInItsLogicalOrder) {
  const Layout transposed = Of({3, 2}, {4, 12});
  for (const bool kernels : {true, false}) {
    if (!kernels) OpenWithoutKernels();
    EXPECT_EQ(device_->has_kernels(), kernels);
    const CuAddress memory = driver_.Allocate(24);
    driver_.Write(memory, {1, 2, 3, 4, 5, 6}, stream_);
    std::vector<float> host(6);
    Copy copy = CopyOf(memory, host, transposed);
    ASSERT_TRUE(device_->Pin(host.data(), 24));
    ASSERT_TRUE(Fetch(copy).ok());
    EXPECT_EQ(host, (std::vector<float>{1, 4, 2, 5, 3, 6}));
    for (float& value : host) value *= 10;
    std::unique_ptr<Device::Event> end;
    ASSERT_TRUE(Joined(device_->ToDevice({&copy, 1}, &end), end).ok());
    EXPECT_EQ(driver_.Read(memory, 6, stream_), (std::vector<float>{10, 20, 30, 40, 50, 60}));
    device_->Unpin(host.data());
  }
}

TEST_F(DeviceTest, ManySmallTensorsGoThereAndBackInOneLaunchEach) {
  constexpr size_t kTensors = 40;
  const Layout packed = Of({3}, {});
  const Layout every_second = Of({3}, {8});
  std::vector<float> host(kTensors * 16);
  ASSERT_TRUE(device_->Pin(host.data(), host.size() * sizeof(float)));
  std::vector<Copy> copies;
  for (size_t i = 0; i < kTensors; ++i) {
    const CuAddress memory = driver_.Allocate(64) + 4 * (i % 3);
    const auto value = static_cast<float>(i);
    driver_.Write(memory, {value, value + 0.25f, value + 0.5f, -1, -2}, stream_);
    copies.push_back({.device = memory, .host = reinterpret_cast<std::byte*>(&host[i * 16]),
                      .bytes = 12, .layout = i % 10 == 9 ? &every_second : &packed});
  }
  const int launches = Calls("cuLaunchKernel");
  const int fetches = Calls("cuMemcpyDtoHAsync_v2");
  ASSERT_TRUE(Fetch(copies).ok());
  EXPECT_EQ(Calls("cuLaunchKernel") - launches, 2) << "contiguous and strided ones";
  EXPECT_EQ(Calls("cuMemcpyDtoHAsync_v2") - fetches, 1);
  for (size_t i = 0; i < kTensors; ++i) {
    const auto value = static_cast<float>(i);
    EXPECT_EQ(host[i * 16], value);
    EXPECT_EQ(host[i * 16 + 1], i % 10 == 9 ? value + 0.5f : value + 0.25f);
    EXPECT_EQ(host[i * 16 + 2], i % 10 == 9 ? -2 : value + 0.5f);
    for (int n = 0; n < 3; ++n) host[i * 16 + n] += 100;
  }
  const int sends = Calls("cuMemcpyHtoDAsync_v2");
  std::unique_ptr<Device::Event> end;
  ASSERT_TRUE(Joined(device_->ToDevice(copies, &end), end).ok());
  EXPECT_EQ(Calls("cuLaunchKernel") - launches, 4);
  EXPECT_EQ(Calls("cuMemcpyHtoDAsync_v2") - sends, 1);
  for (size_t i = 0; i < kTensors; ++i) {
    const auto value = static_cast<float>(i);
    const std::vector<float> expected =
        i % 10 == 9 ? std::vector<float>{value + 100, value + 0.25f, value + 100.5f, -1, 98}
                    : std::vector<float>{value + 100, value + 100.25f, value + 100.5f, -1, -2};
    EXPECT_EQ(driver_.Read(copies[i].device, 5, stream_), expected) << i;
  }
  device_->Unpin(host.data());
}

TEST_F(DeviceTest, AReductionRunsOnTheDeviceBetweenTheCallersWork) {
  constexpr size_t kTensors = 20;  // more than one launch takes
  std::vector<ReduceItem> items(kTensors);
  for (size_t i = 0; i < kTensors; ++i) {
    const CuAddress x = driver_.Allocate(8);
    const CuAddress y = driver_.Allocate(8);
    driver_.Write(x, {1, static_cast<float>(i)}, stream_);
    driver_.Write(y, {10, 20}, stream_);
    items[i].inputs[0] = reinterpret_cast<const void*>(x);
    items[i].inputs[1] = reinterpret_cast<const void*>(y);
    items[i].out = reinterpret_cast<void*>(y);
    items[i].count = 2;
  }
  ReduceBatch batch = {};
  batch.prescale = batch.postscale = 1.0;
  batch.divisor = 1;
  batch.input_count = 2;
  ASSERT_TRUE(device_->Reduce(DataType::kFloat32, batch, items, stream_).ok());
  for (size_t i = 0; i < kTensors; ++i) {
    EXPECT_EQ(driver_.Read(reinterpret_cast<CuAddress>(items[i].out), 2, stream_),
              (std::vector<float>{11, 20 + static_cast<float>(i)}));
  }
}

// What is waited for goes before the caller's kernels; see Device::Start for the two.
TEST_F(DeviceTest, StreamsHaveTheHighestPriorityAndThatOfFetchesTheNext) {
  EXPECT_EQ(driver_.streams(-5), 2);
  EXPECT_EQ(driver_.streams(-4), 1);
}

TEST_F(DeviceTest, TheModeAndWhyNoBetterOneIsReportedOnce) {
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_NE(reports_[0].find("CUDA device 0: "), std::string::npos);
  EXPECT_NE(reports_[0].find("packed by libreigen's kernels"), std::string::npos) << reports_[0];
  for (const char* symbol : {"cuModuleLoadData", "cuModuleGetFunction", "cuMemAlloc_v2"}) {
    driver_.FailOnce(symbol, 222);
    ASSERT_TRUE(Device::Open(options_, 0, &device_).ok());
    EXPECT_FALSE(device_->has_kernels());
    EXPECT_NE(reports_.back().find(std::string("copied one by one, for CUDA device 0: ") +
                                   std::string(symbol).substr(0, 10)), std::string::npos)
        << reports_.back();
  }
  OpenWithoutKernels();
  EXPECT_NE(reports_.back().find("built without nvcc"), std::string::npos) << reports_.back();
}

TEST_F(DeviceTest, MemoryThatCannotBePinnedIsUsedAsItIsAndThatIsReportedOnce) {
  std::vector<float> host(2);
  for (int i = 0; i < 2; ++i) {
    driver_.FailOnce("cuMemHostRegister_v2", 2);
    EXPECT_FALSE(device_->Pin(host.data(), 8));
  }
  ASSERT_EQ(reports_.size(), 2u);
  EXPECT_NE(reports_[1].find("not page-locked"), std::string::npos);
  pinned_ = false;
  const CuAddress memory = driver_.Allocate(8);
  driver_.Write(memory, {1, 2}, stream_);
  ASSERT_TRUE(Fetch(CopyOf(memory, host, Of({2}, {}))).ok());
  EXPECT_EQ(host, (std::vector<float>{1, 2}));
}

TEST_F(DeviceTest, AHangIsAnErrorAfterTheLimitAndItsMemoryIsKept) {
  options_.wait_limit = milliseconds(50);
  // Both rounds' are there to the end: what is pinned stays pinned.
  std::vector<std::vector<float>> hosts(2, std::vector<float>(2)), earliers = hosts;
  for (const bool pinned : {true, false}) {
    ASSERT_TRUE(Device::Open(options_, 0, &device_).ok());
    pinned_ = pinned;
    const CuAddress memory = driver_.Allocate(8);
    driver_.Write(memory, {1, 2}, stream_);
    std::vector<float>& host = hosts[pinned ? 0 : 1];
    std::vector<float>& earlier = earliers[pinned ? 0 : 1];
    ASSERT_TRUE(!pinned || device_->Pin(host.data(), 8));
    ASSERT_TRUE(device_->Pin(earlier.data(), 8));
    driver_.Hang();
    const Layout layout = Of({2}, {});
    const Copy first = CopyOf(memory, earlier, layout);
    std::unique_ptr<Device::Event> before;
    ASSERT_TRUE(device_->StartToHost({&first, 1}, true, &before).ok());
    const Copy copy = CopyOf(memory, host, layout);
    const Result hung = FetchReady({&copy, 1});
    EXPECT_EQ(hung.code, REIGEN_UNAVAILABLE);
    EXPECT_NE(hung.text.find("has not ended after"), std::string::npos) << hung.text;
    const auto kept = std::make_shared<int>(1);
    device_->KeepIfTouched(kept);
    EXPECT_EQ(kept.use_count(), 2);
    driver_.Mend();
    EXPECT_EQ(Fetch(CopyOf(memory, host, Of({2}, {}))).text, hung.text);
  }
}

TEST_F(DeviceTest, WhatACallersStreamTakesIsNoHang) {
  options_.wait_limit = milliseconds(1);
  ASSERT_TRUE(Device::Open(options_, 0, &device_).ok());
  const CuAddress memory = driver_.Allocate(8);
  driver_.Write(memory, {1, 2}, stream_);
  driver_.Hang(stream_);
  std::unique_ptr<Device::Event> begin;
  ASSERT_TRUE(device_->Mark(stream_, &begin).ok());
  bool done = false;
  const Time started = Now();
  ASSERT_TRUE(begin->WaitUntil(started + milliseconds(20), &done).ok());
  ASSERT_TRUE(begin->Ask(started, &done).ok());
  EXPECT_FALSE(done);
  driver_.Hang(stream_, false);
  std::vector<float> host(2);
  EXPECT_TRUE(Fetch(CopyOf(memory, host, Of({2}, {}))).ok());
  EXPECT_EQ(host, (std::vector<float>{1, 2}));
}

TEST_F(DeviceTest, MemoryOfAFailureThatHasEndedIsNotKept) {
  const auto given = std::make_shared<int>(1);
  device_->KeepIfTouched(given);
  EXPECT_EQ(given.use_count(), 1);
}

TEST_F(DeviceTest, EveryCallThatFailsIsNamedAndTheNextOneWorks) {
  const CuAddress memory = driver_.Allocate(8);
  const Layout layout = Of({2}, {});
  for (const char* symbol : {"cuCtxPushCurrent_v2", "cuEventCreate", "cuEventRecord",
                             "cuMemcpyDtoHAsync_v2", "cuEventQuery"}) {
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
    EXPECT_FALSE(Joined(device_->ToDevice({&copy, 1}, &end), end).ok()) << symbol;
    EXPECT_TRUE(Joined(device_->ToDevice({&copy, 1}, &end), end).ok()) << symbol;
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
  EXPECT_FALSE(device_->Pin(host.data(), 8));
  EXPECT_EQ(reports_.size(), 1u) << "the mode alone";
  EXPECT_EQ(Fetch(CopyOf(memory, host, layout)).text, first.text);
}

TEST_F(DeviceTest, ADeviceThatCannotBeOpenedSaysWhy) {
  for (const char* symbol : {"cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuStreamCreateWithPriority",
                             "cuCtxGetStreamPriorityRange"}) {
    driver_.FailOnce(symbol, 2);
    std::shared_ptr<Device> device;
    const Result opened = Device::Open(options_, 1, &device);
    EXPECT_EQ(opened.code, REIGEN_RESOURCE_EXHAUSTED);
    EXPECT_NE(opened.text.find(std::string("CUDA device 1: ") + symbol), std::string::npos)
        << opened.text;
  }
}

}  // namespace
}  // namespace reigen::sdk::cuda
