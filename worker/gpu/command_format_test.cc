#include "worker/gpu/command_format.h"

#include <gtest/gtest.h>

#include <cstring>

namespace reigen::worker {
namespace {

std::byte* At(uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

template <typename T>
T Read(const CommandWord& word) {
  T out;
  std::memcpy(static_cast<void*>(&out), word.data(), sizeof out);
  return out;
}

StatusOr<local::MemoryPlace> Anywhere(const std::byte* at, uint64_t bytes) {
  return local::MemoryPlace{.arena = static_cast<uint32_t>(bytes),
                            .owner = 3,
                            .offset = reinterpret_cast<uintptr_t>(at)};
}

collective::GpuCommand Reduction() {
  collective::GpuCommand command;
  command.dtype = DataType::kFloat16;
  command.received = command.out = DataType::kFloat32;
  command.op = ReduceOp::kMax;
  command.prescale = 2;
  command.postscale = 3;
  command.divisor = 4;
  command.items.push_back(
      {.count = 10, .received = At(100), .inputs = {At(200), At(300)}, .outputs = {At(100)}});
  return command;
}

TEST(CommandFormatTest, WordsAreTheSizeTheReceivedTheInputsTheOutputs) {
  const auto command = FormatCommand(Reduction(), Anywhere);
  ASSERT_TRUE(command.ok());
  const local::CommandSlot& slot = command->slot;
  EXPECT_EQ(slot.kind, local::CommandKind::kReduce);
  EXPECT_EQ(slot.item_count, 1u);
  EXPECT_EQ(slot.inputs, 2);
  EXPECT_EQ(slot.outputs, 1);
  EXPECT_EQ(slot.received, 1);
  EXPECT_EQ(slot.dtype, static_cast<uint8_t>(DataType::kFloat16));
  EXPECT_EQ(slot.out_dtype, static_cast<uint8_t>(DataType::kFloat32));
  EXPECT_EQ(slot.op, static_cast<uint8_t>(ReduceOp::kMax));
  EXPECT_EQ(slot.prescale, 2);
  EXPECT_EQ(slot.postscale, 3);
  EXPECT_EQ(slot.divisor, 4u);
  ASSERT_EQ(command->words.size(), 5u);
  EXPECT_EQ(Read<local::ItemSize>(command->words[0]).count, 10u);
  const auto received = Read<local::MemoryPlace>(command->words[1]);
  EXPECT_EQ(received.offset, 100u);
  EXPECT_EQ(received.arena, 40u) << "bytes of ten float32";
  EXPECT_EQ(received.owner, 3);
  EXPECT_EQ(Read<local::MemoryPlace>(command->words[2]).arena, 20u) << "bytes of ten halves";
  EXPECT_EQ(Read<local::MemoryPlace>(command->words[3]).offset, 300u);
  EXPECT_EQ(Read<local::MemoryPlace>(command->words[4]).offset, 100u);
}

TEST(CommandFormatTest, WhatIsNowhereIsRefused) {
  const auto command = FormatCommand(Reduction(), [](const std::byte*, uint64_t) {
    return StatusOr<local::MemoryPlace>(Internal("nowhere"));
  });
  EXPECT_EQ(Message(command.status()), "nowhere");
}

TEST(CommandFormatTest, CommandsAreWithinTheProtocolsLimits) {
  collective::GpuCommand command = Reduction();
  command.items.resize(local::kMaxCommandItems + 1, command.items[0]);
  EXPECT_FALSE(FormatCommand(command, Anywhere).ok());
  command = Reduction();
  command.items[0].inputs.resize(17, At(8));
  EXPECT_FALSE(FormatCommand(command, Anywhere).ok());
  command = Reduction();
  command.items.push_back(command.items[0]);
  command.items[1].received = nullptr;
  EXPECT_FALSE(FormatCommand(command, Anywhere).ok());
}

}  // namespace
}  // namespace reigen::worker
