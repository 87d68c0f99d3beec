// Goal: how few launches and copies a command takes, and that nonsense is refused.
#include "client/cuda/command.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace reigen::sdk::cuda {
namespace {

constexpr CuAddress kBegin = 0x10000000;

// `items` of 100 float32 with `inputs`, each in place in the first input.
Command SumOf(size_t items, uint32_t inputs, uint32_t outputs) {
  Command command{.op = ReduceOp::kAverage, .prescale = 2, .postscale = 3, .divisor = 4,
                  .inputs = inputs, .outputs = outputs, .items = {}};
  for (size_t i = 0; i < items; ++i) {
    CommandItem& item = command.items.emplace_back();
    item.count = 100;
    for (uint32_t k = 0; k < inputs; ++k) item.inputs[k] = kBegin * (k + 1) + i * 512;
    for (uint32_t k = 0; k < outputs; ++k) item.outputs[k] = kBegin * (k + 1) + i * 512;
  }
  return command;
}

TEST(CommandTest, ALaunchTakesSixteenItemsAndTheOtherOutputsAreCopiesOfTheFirst) {
  CommandPlan plan;
  Command command = SumOf(33, 3, 3);
  command.items[5].count = 0;
  ASSERT_TRUE(MakeCommandPlan(command, true, &plan).ok());
  ASSERT_EQ(plan.reductions.size(), 2u);
  const ReduceBatch& batch = plan.reductions[0];
  EXPECT_EQ(batch.item_count, 16u);
  EXPECT_EQ(batch.input_count, 3u);
  EXPECT_EQ(batch.prescale, 2);
  EXPECT_EQ(batch.postscale, 3);
  EXPECT_EQ(batch.divisor, 4u);
  EXPECT_EQ(batch.combine, Combine::kSum);
  EXPECT_EQ(batch.items[0].out, reinterpret_cast<void*>(kBegin));
  EXPECT_EQ(batch.items[0].received, nullptr);
  EXPECT_TRUE(plan.copies.direct.empty());
  ASSERT_EQ(plan.copies.packs.size(), 2u) << "one for each of the other outputs";
  EXPECT_EQ(plan.copies.packs[1].item_count, 32u);
  EXPECT_EQ(plan.copies.packs[1].items[0].tensor, kBegin * 3);
  EXPECT_EQ(plan.copies.packs[1].items[0].bytes, 400u);
  EXPECT_EQ(plan.copies.packs[1].to_tensors, 1u);
}

TEST(CommandTest, ACopyGoesToEveryOutputButItself) {
  Command command = SumOf(1, 1, 3);
  command.kind = CommandKind::kCopy;
  command.items[0].count = 1 << 20;
  CommandPlan plan;
  ASSERT_TRUE(MakeCommandPlan(command, false, &plan).ok());
  EXPECT_TRUE(plan.reductions.empty());
  ASSERT_EQ(plan.copies.direct.size(), 2u);
  EXPECT_EQ(plan.copies.direct[1].tensor, kBegin * 3);
  EXPECT_EQ(plan.copies.direct[1].packed, kBegin);
  EXPECT_EQ(plan.copies.direct[1].bytes, 4u << 20);
}

TEST(CommandTest, ACopyReadsMemoryOfTheHostOnce) {
  for (const uint64_t count : {uint64_t{100}, uint64_t{1} << 20}) {
    Command command = SumOf(2, 1, 3);
    command.kind = CommandKind::kCopy;
    command.reads_host = true;
    for (CommandItem& item : command.items) {
      item.count = count;
      item.inputs[0] += kBegin * 100;
    }
    CommandPlan plan;
    ASSERT_TRUE(MakeCommandPlan(command, true, &plan).ok());
    if (count > 100) {
      ASSERT_EQ(plan.first_copies.direct.size(), 2u);
      EXPECT_EQ(plan.first_copies.direct[0].packed, command.items[0].inputs[0]);
      EXPECT_EQ(plan.first_copies.direct[0].tensor, command.items[0].outputs[0]);
      ASSERT_EQ(plan.copies.direct.size(), 4u);
      EXPECT_EQ(plan.copies.direct[0].packed, command.items[0].outputs[0]);
      EXPECT_EQ(plan.copies.direct[3].packed, command.items[1].outputs[0]);
      EXPECT_EQ(plan.copies.direct[3].tensor, command.items[1].outputs[2]);
    } else {
      // Launches of a batch are one after the other, its items are not.
      EXPECT_EQ(plan.first_copies.packs.size(), 1u);
      EXPECT_EQ(plan.copies.packs.size(), 2u);
    }
  }
}

TEST(CommandTest, WhatCannotBeAskedForIsRefused) {
  const auto code_of = [](bool has_kernels, const std::function<void(Command&)>& change) {
    Command command = SumOf(1, 2, 1);
    change(command);
    CommandPlan plan;
    return MakeCommandPlan(command, has_kernels, &plan).code;
  };
  EXPECT_EQ(code_of(true, [](Command&) {}), REIGEN_OK);
  EXPECT_EQ(code_of(false, [](Command&) {}), REIGEN_FAILED_PRECONDITION);
  const std::function<void(Command&)> nonsense[] = {
      [](Command& c) { c.inputs = 17; },
      [](Command& c) { c.outputs = 17; },
      [](Command& c) { c.outputs = 0; },
      [](Command& c) { c.inputs = 0; },
      [](Command& c) { c.divisor = 0; },
      [](Command& c) { c.received = DataType::kFloat64; },
      [](Command& c) { c.out = DataType::kFloat16; },
      [](Command& c) { c.kind = CommandKind::kCopy; },
      [](Command& c) { c.dtype = c.received = DataType::kFloat16; },  // in place, wider
      [](Command& c) {
        c.dtype = c.out = DataType::kFloat16;
        c.has_received = true;
        c.items[0].received = c.items[0].outputs[0];
      },
  };
  for (const auto& change : nonsense) {
    EXPECT_EQ(code_of(true, change), REIGEN_INVALID_ARGUMENT) << &change - nonsense;
  }
}

}  // namespace
}  // namespace reigen::sdk::cuda
