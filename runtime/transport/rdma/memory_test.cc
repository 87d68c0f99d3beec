// Goal: memory is registered once, found by address, and deregistered with the last
// use of it, never before.
#include "runtime/transport/rdma/memory.h"

#include <gtest/gtest.h>

#include "runtime/transport/rdma/fake/fake_fabric.h"

namespace reigen::transport::rdma {
namespace {

class MemoryTest : public testing::Test {
 protected:
  MemoryTest() {
    for (const char* name : {"a0", "a1"}) {
      fabric_.AddDevice(0, name, "10.0.0.1");
      devices_.push_back(std::move(fabric_.VerbsOf(0)->Open(name)).value());
    }
    memory_ = std::make_unique<Memory>(devices_);
  }

  FakeFabric fabric_;
  std::vector<std::shared_ptr<Device>> devices_;
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
  devices_.clear();
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

TEST_F(MemoryTest, ADmabufIsRefusedByNameOrHeldUntilItsLastUse) {
  const auto refused = memory_->RegisterDmabuf(7, 0, bytes_, Access::kRelaxed);
  EXPECT_EQ(refused.status().code(), StatusCode::kUnimplemented) << refused.status().ToString();
  for (const char* name : {"a0", "a1"}) fabric_.device(name).dmabuf = true;
  auto region = memory_->RegisterDmabuf(7, 0, bytes_, Access::kRelaxed);
  ASSERT_TRUE(region.ok());
  MemoryUse use = memory_->Find(bytes_);
  region->reset();  // its trainer dies
  EXPECT_EQ(fabric_.registrations(), 2u);
  use.reset();
  EXPECT_EQ(fabric_.registrations(), 0u);
}

TEST_F(MemoryTest, NothingIsRegisteredForNothing) {
  const auto region = memory_->Register({}, Access::kRelaxed);
  EXPECT_TRUE(region.ok());
  EXPECT_EQ(fabric_.registrations(), 0u);
}

}  // namespace
}  // namespace reigen::transport::rdma
