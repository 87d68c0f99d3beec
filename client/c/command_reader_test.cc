// Goal: a worker's command is refused for whatever is wrong with it, and one that is not
// refused stays within the memory that this process knows.
#include "client/c/command_reader.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/dtype.h"

namespace reigen::sdk {
namespace {

constexpr uint64_t kBase = uint64_t{1} << 40;
constexpr uint64_t kBytes = 4096;

local::MemoryPlace At(uint16_t owner, uint32_t arena, uint64_t offset) {
  return {.arena = arena, .owner = owner, .reserved = 0, .offset = offset};
}

class CommandReaderTest : public testing::Test {
 protected:
  CommandReaderTest() {
    memory_.Add(0, 1, kBase, kBytes);
    memory_.Add(3, 2, 2 * kBase, kBytes);
    memory_.Add(local::kHostScratchOwner, 0, 3 * kBase, kBytes);
    head_.dtype = head_.received_dtype = head_.out_dtype = static_cast<uint8_t>(DataType::kFloat32);
    head_.op = static_cast<uint8_t>(ReduceOp::kSum);
    head_.item_count = 1;
    head_.inputs = 2;
    head_.outputs = 1;
    places_ = {At(0, 1, 64), At(3, 2, 128), At(0, 1, 64)};
  }

  // As many items as the head says, of the places one after the other.
  std::vector<local::Slot> Slots() const {
    std::vector<std::byte> words;
    const auto append = [&](const void* word) {
      words.resize(words.size() + sizeof(local::MemoryPlace));
      std::memcpy(words.data() + words.size() - sizeof(local::MemoryPlace), word,
                  sizeof(local::MemoryPlace));
    };
    const size_t of_item = head_.received + size_t{head_.inputs} + head_.outputs;
    for (uint32_t i = 0; i < head_.item_count; ++i) {
      append(&size_);
      for (size_t k = 0; k < of_item; ++k) append(&places_[(i * of_item + k) % places_.size()]);
    }
    std::vector<local::Slot> slots(SlotsOf(head_));
    std::memcpy(slots[0].bytes, &head_, sizeof(head_));
    for (size_t at = 0; at < words.size(); at += sizeof(local::Slot)) {
      std::memcpy(slots[1 + at / sizeof(local::Slot)].bytes, words.data() + at,
                  std::min(sizeof(local::Slot), words.size() - at));
    }
    return slots;
  }
  std::string Refusal() {
    const Result read = ReadCommand(Slots(), memory_, &command_);
    EXPECT_TRUE(read.ok() || read.code == REIGEN_INVALID_ARGUMENT);
    return read.text;
  }

  MemoryMap memory_;
  local::CommandSlot head_;
  local::ItemSize size_{.count = 16, .reserved = 0};
  std::vector<local::MemoryPlace> places_;
  cuda::Command command_;
};

TEST_F(CommandReaderTest, AReductionHasThisProcesssAddresses) {
  head_.received = 1;
  head_.item_count = 2;
  places_ = {At(local::kHostScratchOwner, 0, 0), At(0, 1, 64), At(3, 2, 128), At(0, 1, 192)};
  head_.prescale = 0.5;
  head_.divisor = 3;
  ASSERT_EQ(Refusal(), "");
  EXPECT_EQ(command_.kind, cuda::CommandKind::kReduce);
  EXPECT_EQ(command_.prescale, 0.5);
  EXPECT_EQ(command_.divisor, 3u);
  EXPECT_TRUE(command_.has_received);
  ASSERT_EQ(command_.items.size(), 2u);
  for (const cuda::CommandItem& item : command_.items) {
    EXPECT_EQ(item.count, 16u);
    EXPECT_EQ(item.received, 3 * kBase);
    EXPECT_EQ(item.inputs[0], kBase + 64);
    EXPECT_EQ(item.inputs[1], 2 * kBase + 128);
    EXPECT_EQ(item.outputs[0], kBase + 192);
  }
}

TEST_F(CommandReaderTest, ACopyGoesToEveryOutput) {
  head_.kind = local::CommandKind::kCopy;
  head_.inputs = 1;
  head_.outputs = 2;
  // Of no concern to a copy.
  head_.received_dtype = head_.out_dtype = head_.op = 99;
  head_.divisor = 0;
  ASSERT_EQ(Refusal(), "");
  EXPECT_EQ(command_.kind, cuda::CommandKind::kCopy);
  EXPECT_EQ(command_.out, DataType::kFloat32);
  EXPECT_EQ(command_.items[0].outputs[1], kBase + 64);
}

TEST_F(CommandReaderTest, TheEndOfAnArenaIsItsLastByte) {
  places_ = {At(0, 1, kBytes - 64)};
  EXPECT_EQ(Refusal(), "");
  places_ = {At(0, 1, kBytes - 60)};
  EXPECT_EQ(Refusal(), "arena 1 of local rank 0 ends before 16 elements from 4036 on");
  size_.count = 0;
  places_ = {At(0, 1, kBytes)};
  EXPECT_EQ(Refusal(), "");
  places_ = {At(0, 1, kBytes + 4)};
  EXPECT_NE(Refusal(), "");
  size_.count = UINT64_MAX / 4 + 2;  // times four: 4
  places_ = {At(0, 1, 0)};
  EXPECT_NE(Refusal(), "");
}

TEST_F(CommandReaderTest, WhatIsNotHereIsRefused) {
  places_ = {At(3, 1, 0)};
  EXPECT_EQ(Refusal(), "arena 1 of local rank 3 is not here");
  places_ = {At(local::kHostScratchOwner, 1, 0)};
  EXPECT_EQ(Refusal(), "the host's scratch is not here");
  places_ = {At(0, 1, 2)};
  EXPECT_EQ(Refusal(), "arena 1 of local rank 0: an odd offset 2");
}

TEST_F(CommandReaderTest, EachOperandHasItsOwnType) {
  head_.dtype = static_cast<uint8_t>(DataType::kFloat16);
  head_.received = 1;
  places_ = {At(0, 1, 0), At(0, 1, 2), At(0, 1, 2), At(0, 1, 4)};
  EXPECT_EQ(Refusal(), "");
  head_.out_dtype = head_.dtype;
  places_[3] = At(0, 1, 2);
  EXPECT_EQ(Refusal(), "");
  head_.out_dtype = static_cast<uint8_t>(DataType::kFloat32);
  EXPECT_NE(Refusal(), "");
  head_.out_dtype = static_cast<uint8_t>(DataType::kFloat64);
  EXPECT_NE(Refusal(), "");
}

TEST_F(CommandReaderTest, WrongKindsTypesAndCountsAreRefused) {
  const local::CommandSlot good = head_;
  const auto refused = [&](auto spoil) {
    head_ = good;
    spoil(head_);
    EXPECT_NE(Refusal(), "");
  };
  refused([](auto& head) { head.kind = static_cast<local::CommandKind>(0); });
  refused([](auto& head) { head.kind = local::CommandKind::kMirror; });
  refused([](auto& head) { head.dtype = 10; });
  refused([](auto& head) { head.received_dtype = 200; });
  refused([](auto& head) { head.op = 2; });
  refused([](auto& head) { head.divisor = 0; });
  refused([](auto& head) { head.inputs = 0; });
  refused([](auto& head) { head.inputs = local::kMaxCommandTensors + 1; });
  refused([](auto& head) { head.outputs = 0; });
  refused([](auto& head) { head.outputs = 255; });
  refused([](auto& head) { head.received = 2; });
  refused([](auto& head) { head.item_count = 0; });
  refused([](auto& head) { head.item_count = local::kMaxCommandItems + 1; });
  refused([](auto& head) {
    head.dtype = head.received_dtype = head.out_dtype = static_cast<uint8_t>(DataType::kBool);
    head.prescale = 2.0;
  });
  head_ = good;
  EXPECT_EQ(Refusal(), "");
}

TEST_F(CommandReaderTest, NonsenseNeverLeavesTheMemoryThatIsHere) {
  std::mt19937_64 random(1);
  const auto inside = [](cuda::CuAddress address, uint64_t bytes) {
    const uint64_t into = address % kBase;
    return address >= kBase && address < 4 * kBase && into <= kBytes && bytes <= kBytes - into;
  };
  int accepted = 0;
  for (int round = 0; round < 200'000; ++round) {
    head_.kind = static_cast<local::CommandKind>(1 + random() % 2);
    head_.item_count = static_cast<uint32_t>(1 + random() % 3);
    head_.inputs = static_cast<uint8_t>(random() % 4);
    head_.outputs = static_cast<uint8_t>(random() % 3);
    head_.received = static_cast<uint8_t>(random() % 2);
    head_.dtype = static_cast<uint8_t>(random() % 11);
    head_.received_dtype = random() % 2 != 0 ? head_.dtype : 7;
    head_.out_dtype = random() % 2 != 0 ? head_.dtype : 7;
    size_.count = random() % 8 == 0 ? random() : random() % 1200;
    places_.clear();
    for (int k = 0; k < 7; ++k) {
      const uint16_t owners[] = {0, 0, 3, local::kHostScratchOwner};
      const uint16_t owner = owners[random() % 4];
      const uint32_t arena = owner == 0 ? 1 : owner == 3 ? 2 : 0;
      places_.push_back(At(owner, arena, random() % 16 == 0 ? random() : random() % 512 * 8));
    }
    std::vector<local::Slot> slots = Slots();
    if (random() % 4 == 0) {  // any bit of it
      auto& byte = slots[random() % slots.size()].bytes[random() % sizeof(local::Slot)];
      byte ^= static_cast<std::byte>(1u << random() % 8);
      if (SlotsOf(HeadOf(slots[0])) > slots.size()) continue;
    }
    if (!ReadCommand(slots, memory_, &command_).ok()) continue;
    ++accepted;
    for (const cuda::CommandItem& item : command_.items) {
      const auto check = [&](cuda::CuAddress address, DataType dtype) {
        ASSERT_LE(item.count, kBytes);
        ASSERT_TRUE(inside(address, item.count * ElementBytes(dtype)));
        ASSERT_EQ(address % ElementBytes(dtype), 0u);
      };
      if (command_.has_received) check(item.received, command_.received);
      for (uint32_t k = 0; k < command_.inputs; ++k) check(item.inputs[k], command_.dtype);
      for (uint32_t k = 0; k < command_.outputs; ++k) check(item.outputs[k], command_.out);
    }
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace reigen::sdk
