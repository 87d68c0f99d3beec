// Goal: memory is registered once, found by address, and deregistered with the last
// use of it, never before.
#include "runtime/transport/rdma/memory.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "runtime/transport/rdma/fake/fake_fabric.h"
#include "runtime/transport/rdma/testing/fake_gpu_memory.h"

namespace reigen::transport::rdma {
namespace {

class MemoryTest : public testing::Test {
 protected:
  MemoryTest() {
    for (const char* name : {"a0", "a1"}) {
      fabric_.AddDevice(0, name, "10.0.0.1");
      rails_.push_back({name, std::move(fabric_.VerbsOf(0)->Open(name)).value(), /*port=*/1});
    }
    memory_ = std::make_unique<Memory>(rails_);
  }

  FakeFabric fabric_;
  std::vector<MemoryRail> rails_;
  std::unique_ptr<Memory> memory_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(10000);
};

TEST_F(MemoryTest, IsRegisteredWithEveryDeviceAndFoundByAddress) {
  const auto region = memory_->Register(bytes_, Access::kRelaxed);
  ASSERT_TRUE(region.ok());
  EXPECT_EQ(fabric_.registrations(), 2u);
  const std::span<std::byte> all(bytes_);
  const MemoryUse use = memory_->Find(all);
  ASSERT_NE(use, nullptr);
  EXPECT_NE(use->remote_keys[0], use->remote_keys[1]);
  EXPECT_EQ(memory_->Find(all.subspan(5000, 5000)), use);
  EXPECT_EQ(memory_->Find(all.first(1)), use);
  EXPECT_EQ(memory_->Find({all.data() + 1, all.size()}), nullptr) << "it ends behind the region";
  EXPECT_EQ(memory_->Find({all.data() - 1, 2}), nullptr) << "it begins before";
}

TEST_F(MemoryTest, RegisteredTwiceIsRegisteredOnce) {
  auto first = memory_->Register(bytes_, Access::kRelaxed);
  auto second = memory_->Register(bytes_, Access::kRelaxed);
  auto part = memory_->Register(std::span(bytes_).first(100), Access::kRelaxed);
  EXPECT_EQ(fabric_.registrations(), 4u);
  first->reset();
  EXPECT_EQ(fabric_.registrations(), 4u);
  EXPECT_NE(memory_->Find(std::span(bytes_).subspan(200, 5)), nullptr);
  second->reset();
  EXPECT_EQ(fabric_.registrations(), 2u);
  part->reset();
  EXPECT_EQ(fabric_.registrations(), 0u);
}

TEST_F(MemoryTest, PortsOfOneDeviceShareItsRegistration) {
  fabric_.device("a0").dmabuf = fabric_.device("a1").dmabuf = true;
  rails_.insert(rails_.begin() + 1, rails_[0]);  // a0, a0, a1
  memory_ = std::make_unique<Memory>(rails_);
  const FakeGpuMemory gpu(10000);
  const auto region = memory_->Register(bytes_, Access::kRelaxed);
  std::vector<size_t> tried;
  const auto on_gpu = memory_->RegisterDevice(gpu.device(), Access::kRelaxed,
                                              [&](size_t rail, uint32_t) {
                                                tried.push_back(rail);
                                                return OkStatus();
                                              });
  EXPECT_EQ(fabric_.registrations(), 4u);
  EXPECT_EQ(tried, (std::vector<size_t>{0, 1, 2})) << "each port has a way of its own";
  for (const MemoryUse& use : {memory_->Find(bytes_), memory_->Find(gpu.window())}) {
    ASSERT_NE(use, nullptr);
    EXPECT_EQ(use->rails.registered, 0b111);
    EXPECT_EQ(use->rails.near, 0b111);
    EXPECT_EQ(use->remote_keys[0], use->remote_keys[1]);
    EXPECT_EQ(use->local_keys[0], use->local_keys[1]);
    EXPECT_NE(use->remote_keys[1], use->remote_keys[2]);
  }
  fabric_.device("a0").dmabuf = false;
  const Status refused = memory_->RegisterDevice(gpu.device(), Access::kRelaxed,
                                                 [](size_t, uint32_t) { return OkStatus(); })
                             .status();
  const std::string text = refused.ToString();
  EXPECT_EQ(text.find("a0: "), text.rfind("a0: ")) << "once for a device: " << text;
}

// A trainer dies while what it lent is still written to by a peer.
TEST_F(MemoryTest, GivenUpWhileInUseIsDeregisteredWithTheLastUse) {
  auto region = memory_->Register(bytes_, Access::kRelaxed);
  MemoryUse use = memory_->Find(bytes_);
  region->reset();
  EXPECT_EQ(memory_->Find(bytes_), nullptr) << "no new use of it";
  EXPECT_EQ(fabric_.registrations(), 2u);
  use.reset();
  EXPECT_EQ(fabric_.registrations(), 0u);
}

TEST_F(MemoryTest, ARegionMayOutliveItsTransport) {
  auto region = memory_->Register(bytes_, Access::kRelaxed);
  memory_.reset();
  rails_.clear();
  EXPECT_EQ(fabric_.registrations(), 2u);
  region->reset();
  EXPECT_EQ(fabric_.registrations(), 0u);
}

// C43
TEST_F(MemoryTest, OneDeviceThatRefusesLeavesNothingRegistered) {
  fabric_.device("a1").locked_limit = 5000;
  const auto region = memory_->Register(bytes_, Access::kRelaxed);
  EXPECT_EQ(region.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(fabric_.registrations(), 0u);
}

class DeviceMemoryTest : public MemoryTest {
 protected:
  DeviceMemoryTest() {
    for (const char* name : {"a0", "a1"}) fabric_.device(name).dmabuf = true;
  }
  StatusOr<std::unique_ptr<Region>> Register() {
    return Register(gpu_.device());
  }

  StatusOr<std::unique_ptr<Region>> Register(const DeviceMemory& memory) {
    return memory_->RegisterDevice(memory, Access::kRelaxed, [this](size_t rail, uint32_t key) {
      EXPECT_NE(key, 0u);
      return reached_[rail];
    });
  }

  FakeGpuMemory gpu_{10000};
  Status reached_[2];
};

// C49
TEST_F(DeviceMemoryTest, EachRefusalHasItsCodeAndNamesDeviceAndError) {
  const struct {
    int error;
    StatusCode code;
    const char* words;
  } rows[] = {
      {EOPNOTSUPP, StatusCode::kUnimplemented, "Operation not supported"},
      {EPROTONOSUPPORT, StatusCode::kUnimplemented, "Protocol not supported"},
      {ENOSYS, StatusCode::kUnimplemented, "Function not implemented"},
      {EINVAL, StatusCode::kInvalidArgument, "Invalid argument"},
      {EFAULT, StatusCode::kInvalidArgument, "Bad address"},
      {EBADF, StatusCode::kInvalidArgument, "Bad file descriptor"},
      {ENOMEM, StatusCode::kResourceExhausted, "Cannot allocate memory"},
      {EPERM, StatusCode::kInternal, "Operation not permitted"},
  };
  for (const auto& row : rows) {
    for (const char* name : {"a0", "a1"}) fabric_.device(name).dmabuf_error = row.error;
    const auto refused = Register();
    EXPECT_EQ(refused.status().code(), row.code) << refused.status().ToString();
    for (const char* part : {"a0: ", "a1: ", row.words, "10 KiB"}) {
      EXPECT_NE(refused.status().ToString().find(part), std::string::npos)
          << "no '" << part << "' in: " << refused.status().ToString();
    }
  }
  EXPECT_EQ(fabric_.registrations(), 0u);
  EXPECT_TRUE(memory_->IsHosts(bytes_)) << "there never was memory of a GPU";
}

TEST_F(DeviceMemoryTest, OneThatRefusesAmongThoseThatCannotDecidesTheCode) {
  fabric_.device("a0").dmabuf = false;
  fabric_.device("a1").dmabuf_error = EINVAL;
  EXPECT_EQ(Register().status().code(), StatusCode::kInvalidArgument);
}

TEST_F(DeviceMemoryTest, WhatIsNoDmabufIsRefused) {
  DeviceMemory memory = gpu_.device();
  memory.dmabuf = -1;
  EXPECT_EQ(Register(memory).status().code(),
            StatusCode::kInvalidArgument);
}

// The peer knows nothing of it, and may have no queue to the others.
TEST_F(DeviceMemoryTest, OneRailThatRefusesLeavesNothingRegistered) {
  for (const char* name : {"a0", "a1"}) {
    DeviceMemory memory = gpu_.device();
    memory.near = {"a0"};
    fabric_.device(name).dmabuf_error = EFAULT;
    const Status refused = Register(memory).status();
    fabric_.device(name).dmabuf_error = 0;
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(refused.ToString().find(std::string(name) + ": "), std::string::npos)
        << refused.ToString();
    EXPECT_EQ(memory_->Find(gpu_.window()), nullptr);
    EXPECT_EQ(fabric_.registrations(), 0u);
  }
}

// It was registered, and yet the device does not get there.
TEST_F(DeviceMemoryTest, OneRailThatDoesNotReachTheMemoryLeavesNothingRegistered) {
  reached_[1] = Unavailable("no answer");
  EXPECT_EQ(Register().status().code(), StatusCode::kUnavailable);
  reached_[0] = Internal("REM_ACCESS_ERR");
  const Status refused = Register().status();
  EXPECT_EQ(refused.code(), StatusCode::kInternal);
  for (const char* part : {"a0:1: REM_ACCESS_ERR", "a1:1: no answer"}) {
    EXPECT_NE(refused.ToString().find(part), std::string::npos) << refused.ToString();
  }
  EXPECT_EQ(fabric_.registrations(), 0u);
}

// A device's second port may reach what its first does not: the name says which.
TEST_F(DeviceMemoryTest, APortThatDoesNotReachTheMemoryIsToldFromTheOtherOfItsDevice) {
  rails_ = {{"a0", rails_[0].device, 1}, {"a0", rails_[0].device, 2}};
  memory_ = std::make_unique<Memory>(rails_);
  reached_[0] = Unavailable("no answer");
  EXPECT_EQ(Message(Register().status()),
            "a0:1: no answer; the other RDMA ports take it: --rdma-devices can name these alone");
}

TEST_F(DeviceMemoryTest, RailsNearAreThoseAskedFor) {
  const auto near = [&](std::vector<std::string> names) {
    DeviceMemory memory = gpu_.device();
    memory.near = std::move(names);
    const auto region = Register(memory);
    EXPECT_TRUE(region.ok());
    return memory_->Find(gpu_.window())->rails.near;
  };
  EXPECT_EQ(near({}), 0b11);
  EXPECT_EQ(near({"a1"}), 0b10);
  EXPECT_EQ(near({"a1", "a0"}), 0b11);
  EXPECT_EQ(near({"mlx5_7"}), 0b11) << "not one of this transport's";
}

TEST_F(DeviceMemoryTest, WhoseMemoryItIsIsKnown) {
  EXPECT_TRUE(memory_->IsHosts(bytes_)) << "not registered, but nothing else is there";
  auto host = memory_->Register(bytes_, Access::kRelaxed);
  auto device = Register();
  EXPECT_TRUE(memory_->IsHosts(bytes_));
  EXPECT_TRUE(memory_->IsHosts({}));
  EXPECT_FALSE(memory_->IsHosts(gpu_.window().subspan(9999, 1)));
  EXPECT_TRUE(memory_->Find(gpu_.window())->read_back);
  device->reset();
  EXPECT_FALSE(memory_->IsHosts(gpu_.window())) << "its owner has gone; still not to be touched";
  EXPECT_TRUE(memory_->IsHosts(bytes_));
}

// Its trainer dies.
TEST_F(DeviceMemoryTest, GivenUpWhileInUseIsDeregisteredWithTheLastUse) {
  auto region = Register();
  ASSERT_TRUE(region.ok());
  MemoryUse use = memory_->Find(gpu_.window());
  region->reset();
  EXPECT_EQ(memory_->Find(gpu_.window()), nullptr);
  EXPECT_EQ(fabric_.registrations(), 2u);
  use.reset();
  EXPECT_EQ(fabric_.registrations(), 0u);
}

// Addresses are used again for another arena while a link still holds the old one.
TEST_F(DeviceMemoryTest, TheLatestRegistrationOfAnAddressCounts) {
  auto first = Register();
  const MemoryUse old = memory_->Find(gpu_.window());
  auto second = Register();
  const MemoryUse use = memory_->Find(gpu_.window());
  EXPECT_NE(use, old);
  first->reset();
  EXPECT_EQ(memory_->Find(gpu_.window()), use);
}

TEST_F(MemoryTest, NothingIsRegisteredForNothing) {
  const auto region = memory_->Register({}, Access::kRelaxed);
  EXPECT_TRUE(region.ok());
  EXPECT_EQ(fabric_.registrations(), 0u);
}

}  // namespace
}  // namespace reigen::transport::rdma
