// Goal: each task becomes the commands that do what SegmentWork does.
// Method: a table of buckets and tasks; addresses are numbers, so commands are text.
#include "runtime/collective/gpu_commands.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace reigen::collective {
namespace {

using Kind = SegmentTask::Kind;

std::byte* Address(uint64_t number) { return reinterpret_cast<std::byte*>(number); }
uint64_t Number(const std::byte* address) { return reinterpret_cast<uint64_t>(address); }

// Scratch: X is what was received, Y what is held, Z where final values go.
constexpr uint64_t kX = 10000;
constexpr uint64_t kY = 20000;
constexpr uint64_t kZ = 30000;

// "reduce float16 from float32 to float16 sum /4 *3 *5: 7x[1 2 <3 >4 5]": seven elements, inputs
// 1 and 2, received 3, outputs 4 and 5.
std::string Text(const GpuCommand& command) {
  const bool copy = command.kind == GpuCommand::Kind::kCopy;
  std::string text = copy ? "copy " : "reduce ";
  text += Name(command.dtype);
  if (command.received != command.dtype) text += " from " + std::string(Name(command.received));
  if (command.out != command.dtype) text += " to " + std::string(Name(command.out));
  if (!copy) text += " " + std::string(Name(command.op));
  if (command.divisor != 1) text += " /" + std::to_string(command.divisor);
  if (command.prescale != 1) text += " pre" + std::to_string(static_cast<int>(command.prescale));
  if (command.postscale != 1) text += " post" + std::to_string(static_cast<int>(command.postscale));
  text += ":";
  for (const GpuItem& item : command.items) {
    text += " " + std::to_string(item.count) + "x[";
    for (const std::byte* input : item.inputs) text += std::to_string(Number(input)) + " ";
    if (item.received != nullptr) text += "<" + std::to_string(Number(item.received)) + " ";
    text += ">";
    for (const std::byte* output : item.outputs) text += " " + std::to_string(Number(output));
    text += "]";
  }
  return text;
}

std::vector<std::string> Texts(const Bucket& bucket, const SegmentTask& task, int parts = 1,
                               uint64_t segment_elements = 100) {
  const Layout layout(bucket.tensors, parts, segment_elements);
  std::vector<std::string> texts;
  for (const GpuCommand& command : GpuCommands(bucket, layout).Of(task)) texts.push_back(Text(command));
  return texts;
}

BucketTensor Tensor(uint64_t count, std::vector<uint64_t> inputs, std::vector<uint64_t> outputs) {
  BucketTensor tensor;
  tensor.count = count;
  for (const uint64_t input : inputs) tensor.inputs.push_back(Address(input));
  for (const uint64_t output : outputs) tensor.outputs.push_back(Address(output));
  return tensor;
}

// An average of two ranks' halves: the first in place, the second not; partial sums float32.
Bucket AverageOfHalves() {
  Bucket bucket;
  bucket.op = ReduceOp::kAverage;
  bucket.dtype = DataType::kFloat16;
  bucket.wire = DataType::kFloat32;
  bucket.prescale = 3;
  bucket.postscale = 5;
  bucket.divisor = 4;
  bucket.tensors = {Tensor(10, {100, 200}, {100, 300}), Tensor(0, {700, 700}, {700, 700}),
                    Tensor(6, {400, 500}, {400, 600})};
  return bucket;
}

Bucket BroadcastOf(std::vector<uint64_t> inputs) {
  Bucket bucket;
  bucket.kind = CollectiveKind::kBroadcast;
  bucket.dtype = bucket.wire = DataType::kInt32;
  bucket.tensors = {Tensor(8, inputs, {100, 200, 300})};
  return bucket;
}

struct Row {
  const char* name;
  Bucket bucket;
  SegmentTask task;
  std::vector<std::string> commands;
};

std::vector<Row> Rows() {
  Bucket unlike = AverageOfHalves();  // a tensor that only one rank has put in
  unlike.tensors[2] = Tensor(6, {400}, {400, 600});
  return {
      {"LoadSum",
       AverageOfHalves(),
       {.kind = Kind::kLoadSum, .out = Address(kX)},
       {"reduce float16 from float32 to float32 average pre3: 10x[100 200 > 10000] "
        "6x[400 500 > 10040]"}},
      {"AddLocal",
       AverageOfHalves(),
       {.kind = Kind::kAddLocal, .in = Address(kX), .out = Address(kX)},
       {"reduce float16 from float32 to float32 average pre3: 10x[100 200 <10000 > 10000] "
        "6x[400 500 <10040 > 10040]"}},
      {"AddLocalFinal",
       AverageOfHalves(),
       {.kind = Kind::kAddLocalFinal, .in = Address(kX), .out = Address(kZ)},
       {"reduce float16 from float32 average /4 pre3 post5: "
        "10x[100 200 <10000 > 100 300 30000] 6x[400 500 <10040 > 400 600 30020]"}},
      {"Combine",
       AverageOfHalves(),
       {.kind = Kind::kCombine, .in = Address(kY), .right = Address(kX), .out = Address(kX)},
       {"reduce float32 average: 16x[10000 <20000 > 10000]"}},
      {"CombineDeliver",
       AverageOfHalves(),
       {.kind = Kind::kCombineDeliver, .in = Address(kX), .right = Address(kY), .out = Address(kX)},
       {"reduce float32 average: 16x[20000 <10000 > 10000]",
        "reduce float16 from float32 average /4 pre3 post5: 10x[<10000 > 100 300] "
        "6x[<10040 > 400 600]"}},
      {"DeliverWire",
       AverageOfHalves(),
       {.kind = Kind::kDeliverWire, .in = Address(kX)},
       {"reduce float16 from float32 average /4 pre3 post5: 10x[<10000 > 100 300] "
        "6x[<10040 > 400 600]"}},
      {"DeliverFinal",
       AverageOfHalves(),
       {.kind = Kind::kDeliverFinal, .in = Address(kZ)},
       {"copy float16: 10x[30000 > 100 300] 6x[30020 > 400 600]"}},
      {"ReduceInPlace",
       AverageOfHalves(),
       {.kind = Kind::kReduceInPlace},
       {"reduce float16 from float32 average /4 pre3 post5: 10x[100 200 > 100 300] "
        "6x[400 500 > 400 600]"}},
      {"ItemsOfAnotherShapeAreAnotherCommand",
       unlike,
       {.kind = Kind::kReduceInPlace},
       {"reduce float16 from float32 average /4 pre3 post5: 10x[100 200 > 100 300]",
        "reduce float16 from float32 average /4 pre3 post5: 6x[400 > 400 600]"}},
      {"LoadRootLeavesOutTheRootItself",
       BroadcastOf({200}),
       {.kind = Kind::kLoadRoot, .out = Address(kX)},
       {"copy int32: 8x[200 > 100 300 10000]"}},
      {"LoadRootOfAnInputThatIsNoOutput",
       BroadcastOf({900}),
       {.kind = Kind::kLoadRoot, .out = Address(kX)},
       {"copy int32: 8x[900 > 100 200 300 10000]"}},
      {"BroadcastInPlace",
       BroadcastOf({100}),
       {.kind = Kind::kBroadcastInPlace},
       {"copy int32: 8x[100 > 200 300]"}},
  };
}

TEST(GpuCommandsTest, EachTaskBecomesTheseCommands) {
  for (const Row& row : Rows()) EXPECT_EQ(Texts(row.bucket, row.task), row.commands) << row.name;
}

TEST(GpuCommandsTest, PartialSumsOfTheTensorsTypeAreThatThroughout) {
  Bucket bucket = AverageOfHalves();
  bucket.wire = DataType::kFloat16;
  EXPECT_EQ(Texts(bucket, {.kind = Kind::kAddLocalFinal, .in = Address(kX), .out = Address(kX)}),
            std::vector<std::string>{"reduce float16 average /4 pre3 post5: "
                                     "10x[100 200 <10000 > 100 300 10000] "
                                     "6x[400 500 <10020 > 400 600 10020]"});
}

TEST(GpuCommandsTest, APartAndASegmentHaveTheirOwnElements) {
  Bucket bucket;
  bucket.tensors = {Tensor(10, {1000}, {1000}), Tensor(7, {2000}, {2000})};
  // Part 1 of 2: elements 5 to 9 and 3 to 6; its segment 1 of three elements: 8, 9 and 3.
  EXPECT_EQ(Texts(bucket, {.kind = Kind::kLoadSum, .id = {1, 1}, .out = Address(kX)}, 2, 3),
            std::vector<std::string>{"reduce float32 sum: 2x[1032 > 10000] 1x[2012 > 10008]"});
}

TEST(GpuCommandsTest, WhereNobodyContributesOnlyFinalValuesAreMade) {
  Bucket bucket;
  bucket.tensors = {Tensor(5, {}, {100})};
  EXPECT_EQ(Texts(bucket, {.kind = Kind::kAddLocal, .in = Address(kX), .out = Address(kX)}).size(), 0u);
  EXPECT_EQ(Texts(bucket, {.kind = Kind::kReduceInPlace}).size(), 0u);
  EXPECT_EQ(Texts(bucket, {.kind = Kind::kAddLocalFinal, .in = Address(kX), .out = Address(kX)}),
            std::vector<std::string>{"reduce float32 sum: 5x[<10000 > 100 10000]"});
}

TEST(GpuCommandsTest, WhereNobodyIsServedNothingIsDelivered) {
  Bucket bucket;
  bucket.tensors = {Tensor(5, {100}, {})};
  EXPECT_EQ(Texts(bucket, {.kind = Kind::kDeliverWire, .in = Address(kX)}).size(), 0u);
  EXPECT_EQ(Texts(bucket, {.kind = Kind::kDeliverFinal, .in = Address(kX)}).size(), 0u);
}

TEST(GpuCommandsTest, ARootAloneOnItsHostHasNothingToCopy) {
  Bucket bucket = BroadcastOf({100});
  bucket.tensors[0].outputs = {Address(100)};
  EXPECT_EQ(Texts(bucket, {.kind = Kind::kBroadcastInPlace}).size(), 0u);
  EXPECT_EQ(Texts(bucket, {.kind = Kind::kLoadRoot, .out = Address(kX)}),
            std::vector<std::string>{"copy int32: 8x[100 > 10000]"});
}

TEST(GpuCommandsTest, HundredsOfSmallTensorsAreItemsOfFewCommands) {
  Bucket bucket;
  for (uint64_t t = 0; t < 600; ++t) {
    bucket.tensors.push_back(Tensor(t % 3, {1000 * t + 64}, {1000 * t + 64}));
  }
  const Layout layout(bucket.tensors, 1, 1000);
  const auto commands = GpuCommands(bucket, layout).Of({.kind = Kind::kReduceInPlace});
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_EQ(commands[0].items.size(), Gpus::kMaxItems);
  EXPECT_EQ(commands[1].items.size(), 400 - Gpus::kMaxItems);
}

TEST(GpuCommandsTest, MoreOutputsThanACommandTakesAreCopiedFromTheFirstBehindIt) {
  Bucket bucket;
  std::vector<uint64_t> ranks;
  for (uint64_t r = 1; r <= Gpus::kMaxInputs; ++r) ranks.push_back(100 * r);
  bucket.tensors = {Tensor(2, ranks, ranks), Tensor(3, ranks, ranks)};
  for (auto& output : bucket.tensors[1].outputs) output += 8;
  const std::vector<std::string> texts =
      Texts(bucket, {.kind = Kind::kAddLocalFinal, .in = Address(kX), .out = Address(kX)});
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_TRUE(texts[0].ends_with("<10008 > 108 208 308 408 508 608 708 808 908 1008 1108 1208 "
                                 "1308 1408 1508 1608]"))
      << texts[0];
  EXPECT_EQ(texts[1], "copy float32: 2x[100 > 10000] 3x[108 > 10008]");
}

}  // namespace
}  // namespace reigen::collective
