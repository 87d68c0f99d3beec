// Goal: another process works on memory by its handle, a dma-buf is of the whole range, host
// memory is reached by its address on the device, and each refusal has CUDA's words.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "client/cuda/testing/device_fixture.h"

namespace reigen::sdk::cuda {
namespace {

using testing::HasSubstr;
using HandleBytes = std::array<uint8_t, kCuIpcHandleBytes>;

class DeviceMemoryTest : public FakeDeviceTest {
 protected:
  // What the other process says.
  static std::string RunPeer(const HandleBytes& handle, int device, const std::string& env = "") {
    std::string command = env + " client/cuda/testing/ipc_peer ";
    for (const uint8_t byte : handle) {
      char hex[3];
      std::snprintf(hex, sizeof hex, "%02x", byte);
      command += hex;
    }
    command += " " + std::to_string(device);
    FILE* const pipe = popen(command.c_str(), "r");
    char line[512] = "";
    if (pipe == nullptr || std::fgets(line, sizeof line, pipe) == nullptr) return "nothing";
    EXPECT_EQ(pclose(pipe), 0);
    return line;
  }
  HandleBytes Export(const DeviceRange& range) {
    HandleBytes handle{};
    const Result exported = device_->ExportIpc(range, &handle);
    EXPECT_TRUE(exported.ok()) << exported.text;
    return handle;
  }
};

TEST_F(DeviceMemoryTest, ARangeIsAnAllocationOfItsOwnAndFreedOnce) {
  const int freed = Calls("cuMemFree_v2");
  auto range = Allocate((size_t{2} << 20) + 1);
  EXPECT_EQ(range->bytes(), size_t{4} << 20);
  range.reset();
  EXPECT_EQ(Calls("cuMemFree_v2") - freed, 1);
  driver_.FailOnce("cuMemAlloc_v2", 2);
  EXPECT_EQ(device_->Allocate(1, &range).code, REIGEN_RESOURCE_EXHAUSTED);
}

TEST_F(DeviceMemoryTest, WhatALostDeviceMayTouchIsKept) {
  auto range = Allocate(1);
  driver_.FailOnce("cuEventRecord", kCuIllegalAddress);
  std::unique_ptr<Device::Event> end;
  EXPECT_FALSE(device_->Mark(stream_, &end).ok());
  const int freed = Calls("cuMemFree_v2");
  range.reset();
  EXPECT_EQ(Calls("cuMemFree_v2"), freed);
}

TEST_F(DeviceMemoryTest, AnotherProcessWorksOnItWithEitherGpu) {
  const auto range = Allocate(1);
  const HandleBytes handle = Export(*range);
  driver_.Write(range->address(), {1, 2}, stream_);
  driver_.Write(range->address() + 64, {10, 20}, stream_);
  EXPECT_EQ(driver_.Read(range->address(), 2, stream_), (std::vector<float>{1, 2}));
  EXPECT_EQ(RunPeer(handle, 0), "added\n");
  EXPECT_EQ(driver_.Read(range->address(), 2, stream_), (std::vector<float>{11, 22}));
  EXPECT_EQ(RunPeer(handle, 1), "added\n");
  EXPECT_EQ(driver_.Read(range->address(), 2, stream_), (std::vector<float>{21, 42}));
}

TEST_F(DeviceMemoryTest, AHandleThatCannotBeOpenedSaysWhy) {
  auto range = Allocate(1);
  const HandleBytes handle = Export(*range);
  EXPECT_THAT(RunPeer(handle, 1, "REIGEN_FAKE_CUDA_NO_PEER=1"),
              HasSubstr("CUDA device 1: cuIpcOpenMemHandle: CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"));
  EXPECT_EQ(RunPeer(handle, 0, "REIGEN_FAKE_CUDA_NO_PEER=1"), "added\n");
  EXPECT_THAT(RunPeer(handle, 0, "REIGEN_FAKE_CUDA_FAIL=cuIpcOpenMemHandle_v2=801"),
              HasSubstr("cuIpcOpenMemHandle: CUDA_ERROR_NOT_SUPPORTED"));
  CuAddress address = 0;
  EXPECT_THAT(device_->OpenIpc(handle, &address).text, HasSubstr("CUDA_ERROR_INVALID_CONTEXT"))
      << "in the process that it is of";
  range.reset();
  EXPECT_THAT(RunPeer(handle, 0), HasSubstr("CUDA_ERROR_MAP_FAILED"));
  EXPECT_EQ(device_->OpenIpc(HandleBytes{}, &address).code, REIGEN_INTERNAL);
}

TEST_F(DeviceMemoryTest, ADmabufIsOfTheWholeRange) {
  const auto range = Allocate(1);
  driver_.Write(range->address() + 4096, {7}, stream_);
  EXPECT_EQ(driver_.Read(range->address() + 4096, 1, stream_), (std::vector<float>{7}));
  UniqueFd fd;
  const Result exported = device_->ExportDmabuf(*range, &fd);
  ASSERT_TRUE(exported.ok()) << exported.text;
  EXPECT_EQ(Calls("cuPointerSetAttribute"), 1);
  EXPECT_EQ(fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
  struct stat status;
  ASSERT_EQ(fstat(fd.get(), &status), 0);
  EXPECT_EQ(static_cast<size_t>(status.st_size), range->bytes());
  // What an RDMA device would see of it.
  void* const mapped = mmap(nullptr, range->bytes(), PROT_READ, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(static_cast<const float*>(mapped)[1024], 7);
  munmap(mapped, range->bytes());
}

TEST_F(DeviceMemoryTest, WithoutADmabufThereIsAReason) {
  const auto range = Allocate(1);
  UniqueFd fd;
  driver_.FailOnce("cuMemGetHandleForAddressRange", 801);
  Result refused = device_->ExportDmabuf(*range, &fd);
  EXPECT_EQ(refused.code, REIGEN_UNAVAILABLE);
  EXPECT_THAT(refused.text,
              HasSubstr("CUDA device 0: cuMemGetHandleForAddressRange: CUDA_ERROR_NOT_SUPPORTED"));
  driver_.FailOnce("cuPointerSetAttribute", 1);
  EXPECT_EQ(device_->ExportDmabuf(*range, &fd).code, REIGEN_UNAVAILABLE);
  EXPECT_FALSE(fd.valid());
  DriverApi old = driver_.api();
  old.range_handle = nullptr;
  options_.api = &old;
  ASSERT_TRUE(Device::Open(options_, 0, &device_).ok());
  EXPECT_THAT(device_->ExportDmabuf(*range, &fd).text, HasSubstr("the CUDA driver is too old"));
  device_.reset();
}

TEST_F(DeviceMemoryTest, ADeviceWhoseDriverKnowsNoDmabufSaysSo) {
  const auto range = Allocate(1);
  setenv("REIGEN_FAKE_CUDA_FAIL", "cuDeviceGetAttribute=1", 1);
  ASSERT_TRUE(Device::Open(options_, 0, &device_).ok());
  unsetenv("REIGEN_FAKE_CUDA_FAIL");
  EXPECT_FALSE(device_->facts().allows_rdma);
  EXPECT_EQ(device_->facts().capability_major, 0);
  UniqueFd fd;
  EXPECT_THAT(device_->ExportDmabuf(*range, &fd).text, HasSubstr("DMA_BUF_SUPPORTED is 0"));
}

TEST_F(DeviceMemoryTest, TheFactsAreTheDrivers) {
  const DeviceFacts& facts = device_->facts();
  EXPECT_EQ(facts.capability_major, 9);
  EXPECT_EQ(facts.writes_ordering, 100);
  EXPECT_TRUE(facts.allows_rdma);
  EXPECT_EQ(facts.bus_id, "0000:3b:00.0");
  EXPECT_GT(facts.total_bytes, 0u);
}

TEST_F(DeviceMemoryTest, MappedHostMemoryIsReadAndWrittenByCommands) {
  constexpr size_t kBytes = 1 << 20;
  for (const int kind : {MAP_SHARED, MAP_PRIVATE}) {
    void* const host = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(host, MAP_FAILED);
    auto* const values = static_cast<float*>(host);
    values[0] = 1;
    values[1] = 2;
    CuAddress address = 0;
    ASSERT_TRUE(device_->MapHost(host, kBytes, &address).ok());
    Command command{.inputs = 2, .items = {}};
    command.items.push_back(
        {.count = 2, .inputs = {address, address}, .outputs = {address + 4096}});
    std::unique_ptr<Device::Event> end;
    ASSERT_TRUE(device_->StartCommand(command, &end).ok());
    ASSERT_TRUE(end->Wait().ok());
    EXPECT_EQ(values[1024], 2);
    EXPECT_EQ(values[1025], 4);
    device_->UnmapHost(host);
    EXPECT_EQ(driver_.registered(), 0);
    munmap(host, kBytes);
  }
}

// Sandboxes give it for what they do not let through.
TEST_F(DeviceMemoryTest, AnUnknownErrorOfACallThatMayBeRefusedIsOfThatCallAlone) {
  const auto range = Allocate(1);
  std::vector<float> host(1024);
  const auto reject = [&](const char* symbol, const auto& call) {
    driver_.FailOnce(symbol, kCuUnknown);
    EXPECT_FALSE(call()) << symbol;
    std::unique_ptr<Device::Event> end;
    const Result next = device_->Mark(stream_, &end);
    EXPECT_TRUE(next.ok()) << symbol << ": " << next.text;
  };
  CuAddress address = 0;
  HandleBytes handle{};
  UniqueFd fd;
  std::unique_ptr<DeviceRange> more;
  const auto map = [&] { return device_->MapHost(host.data(), 4096, &address).ok(); };
  const auto dmabuf = [&] { return device_->ExportDmabuf(*range, &fd).ok(); };
  reject("cuMemHostRegister_v2", [&] { return device_->Pin(host.data(), 4096); });
  reject("cuMemHostRegister_v2", map);
  reject("cuMemHostGetDevicePointer_v2", map);
  reject("cuMemAlloc_v2", [&] { return device_->Allocate(1, &more).ok(); });
  reject("cuIpcGetMemHandle", [&] { return device_->ExportIpc(*range, &handle).ok(); });
  reject("cuIpcOpenMemHandle_v2", [&] { return device_->OpenIpc(handle, &address).ok(); });
  reject("cuPointerSetAttribute", dmabuf);
  reject("cuMemGetHandleForAddressRange", dmabuf);
  driver_.FailOnce("cuModuleLoadData", kCuUnknown);
  ASSERT_TRUE(Device::Open(options_, 0, &device_).ok());
  EXPECT_FALSE(device_->has_kernels());
}

// As of a GPU that is off the bus: what it was given before may still be done.
TEST_F(DeviceMemoryTest, AnUnknownErrorOfWorkLosesTheDeviceAndKeepsWhatItMayTouch) {
  const CuAddress memory = driver_.Allocate(8);
  const Layout layout = Of({2}, {});
  for (const char* symbol : {"cuCtxPushCurrent_v2", "cuMemcpyDtoHAsync_v2", "cuEventRecord",
                             "cuEventQuery", "cuLaunchKernel"}) {
    ASSERT_TRUE(Device::Open(options_, 0, &device_).ok());
    std::vector<float> host[2] = {{0, 0}, {0, 0}};
    Copy copies[2];
    for (size_t i = 0; i < 2; ++i) {
      copies[i] = {.device = memory, .host = reinterpret_cast<std::byte*>(host[i].data()),
                   .bytes = 8, .layout = &layout};
    }
    driver_.FailOnce(symbol, kCuUnknown);
    std::unique_ptr<Device::Event> end;
    Result failed = device_->StartToHost(copies, true, &end);
    if (failed.ok()) failed = end->Wait();
    EXPECT_EQ(failed.code, REIGEN_UNAVAILABLE) << symbol;
    EXPECT_EQ(device_->StartToHost(copies, true, &end).text, failed.text) << symbol;
    const auto kept = std::make_shared<int>(1);
    device_->KeepIfTouched(kept);
    EXPECT_EQ(kept.use_count(), 2) << symbol;
  }
}

TEST_F(DeviceMemoryTest, HostMemoryThatCannotBeMappedIsNotLeftPageLocked) {
  std::vector<float> host(1024);
  CuAddress address = 0;
  for (const char* symbol : {"cuMemHostRegister_v2", "cuMemHostGetDevicePointer_v2"}) {
    driver_.FailOnce(symbol, 2);
    EXPECT_EQ(device_->MapHost(host.data(), 4096, &address).code, REIGEN_RESOURCE_EXHAUSTED);
    EXPECT_EQ(driver_.registered(), 0);
  }
}

}  // namespace
}  // namespace reigen::sdk::cuda
