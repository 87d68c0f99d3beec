// Goal: packing on the GPU alone is ordered after the caller's work and unpacking before
// what follows, whatever the layouts are.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cuda/testing/device_fixture.h"

namespace reigen::sdk::cuda {
namespace {

class DevicePacksTest : public FakeDeviceTest {
 protected:
  // As a trainer that has just launched its kernels.
  Result Pack(std::span<const DevicePack> packs) {
    std::unique_ptr<Device::Event> begin;
    std::unique_ptr<Device::Event> end;
    REIGEN_SDK_RETURN_IF_ERROR(device_->Mark(stream_, &begin));
    REIGEN_SDK_RETURN_IF_ERROR(begin->Wait());
    REIGEN_SDK_RETURN_IF_ERROR(device_->StartPack(packs, &end));
    return end->Wait();
  }
  std::unique_ptr<DeviceRange> memory_ = Allocate(8 << 20);
  const CuAddress packed_ = memory_->address();
};

TEST_F(DevicePacksTest, ManyTensorsGoThereAndBackInALaunchForEachKind) {
  constexpr size_t kTensors = 40;
  const Layout contiguous = Of({3}, {});
  const Layout every_second = Of({3}, {8});
  std::vector<DevicePack> packs;
  for (size_t i = 0; i < kTensors; ++i) {
    const CuAddress tensor = driver_.Allocate(64) + 4 * (i % 3);
    const auto value = static_cast<float>(i);
    driver_.Write(tensor, {value, value + 0.25f, value + 0.5f, -1, -2}, stream_);
    packs.push_back({.tensor = tensor, .packed = packed_ + i * 64, .bytes = 12,
                     .layout = i % 10 == 9 ? &every_second : &contiguous});
  }
  const int launches = Calls("cuLaunchKernel");
  const int copies = Calls("cuMemcpyAsync");
  ASSERT_TRUE(Pack(packs).ok());
  EXPECT_EQ(Calls("cuLaunchKernel") - launches, 2);
  EXPECT_EQ(Calls("cuMemcpyAsync"), copies);
  const CuStream own = driver_.NewStream();
  for (size_t i = 0; i < kTensors; ++i) {
    const auto value = static_cast<float>(i);
    const bool strided = i % 10 == 9;
    EXPECT_EQ(driver_.Read(packs[i].packed, 3, own),
              (std::vector<float>{value, value + (strided ? 0.5f : 0.25f),
                                  strided ? -2 : value + 0.5f}));
    driver_.Write(packs[i].packed, {100, 101, 102}, own);
  }
  std::unique_ptr<Device::Event> end;
  ASSERT_TRUE(device_->Mark(own, &end).ok());
  ASSERT_TRUE(end->Wait().ok());
  ASSERT_TRUE(Joined(device_->StartUnpack(packs, &end), end).ok());
  for (size_t i = 0; i < kTensors; ++i) {
    const auto value = static_cast<float>(i);
    const std::vector<float> expected = i % 10 == 9
                                            ? std::vector<float>{100, value + 0.25f, 101, -1, 102}
                                            : std::vector<float>{100, 101, 102, -1, -2};
    EXPECT_EQ(driver_.Read(packs[i].tensor, 5, stream_), expected) << i;
  }
}

TEST_F(DevicePacksTest, ALargeTensorIsOneCopy) {
  const size_t count = 100000;
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  const CuAddress tensor = driver_.Allocate(count * 4);
  driver_.Write(tensor, values, stream_);
  const DevicePack pack{.tensor = tensor, .packed = packed_, .bytes = count * 4};
  const int launches = Calls("cuLaunchKernel");
  const int copies = Calls("cuMemcpyAsync");
  ASSERT_TRUE(Pack({&pack, 1}).ok());
  EXPECT_EQ(Calls("cuLaunchKernel"), launches);
  EXPECT_EQ(Calls("cuMemcpyAsync") - copies, 1);
  EXPECT_EQ(driver_.Read(packed_, count, stream_), values);
}

TEST_F(DevicePacksTest, LayoutsThatKernelsDoNotTakeAreGatheredOnTheHost) {
  const Layout five = Of({2, 2, 2, 2, 2}, {4, 8, 16, 32, 64});
  const Layout transposed = Of({3, 2}, {4, 12});
  for (const bool kernels : {true, false}) {
    if (!kernels) OpenWithoutKernels();
    const Layout& layout = kernels ? five : transposed;
    const size_t count = kernels ? 32 : 6;
    std::vector<float> values(count);
    std::vector<float> expected(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
    layout.Gather(reinterpret_cast<const std::byte*>(values.data()),
                  reinterpret_cast<std::byte*>(expected.data()));
    const CuAddress tensor = driver_.Allocate(count * 4);
    driver_.Write(tensor, values, stream_);
    const DevicePack pack{.tensor = tensor, .packed = packed_, .bytes = count * 4,
                          .layout = &layout};
    ASSERT_TRUE(Pack({&pack, 1}).ok());
    EXPECT_EQ(driver_.Read(packed_, count, driver_.NewStream()), expected);
    driver_.Write(tensor, std::vector<float>(count), stream_);
    std::unique_ptr<Device::Event> end;
    ASSERT_TRUE(device_->Mark(stream_, &end).ok());
    ASSERT_TRUE(end->Wait().ok());
    ASSERT_TRUE(Joined(device_->StartUnpack({&pack, 1}, &end), end).ok());
    EXPECT_EQ(driver_.Read(tensor, count, stream_), values);
  }
}

TEST_F(DevicePacksTest, ACallThatFailsIsNamedAndTheNextOneWorks) {
  const DevicePack pack{.tensor = driver_.Allocate(8), .packed = packed_, .bytes = 8};
  for (const char* symbol : {"cuCtxPushCurrent_v2", "cuEventCreate", "cuEventRecord",
                             "cuMemcpyAsync"}) {
    driver_.FailOnce(symbol, 304);
    const Result failed = Pack({&pack, 1});
    EXPECT_EQ(failed.code, REIGEN_INTERNAL) << symbol;
    EXPECT_NE(failed.text.find(std::string(symbol).substr(0, 10)), std::string::npos)
        << failed.text;
    EXPECT_TRUE(Pack({&pack, 1}).ok()) << symbol;
    driver_.FailOnce(symbol, 304);
    std::unique_ptr<Device::Event> end;
    EXPECT_FALSE(Joined(device_->StartUnpack({&pack, 1}, &end), end).ok()) << symbol;
    EXPECT_TRUE(Joined(device_->StartUnpack({&pack, 1}, &end), end).ok()) << symbol;
  }
}

}  // namespace
}  // namespace reigen::sdk::cuda
