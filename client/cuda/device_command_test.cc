// Goal: what a command leaves in memory has the bits of runtime/reduce/kernels.h, whatever
// its type, operator, scales, wire, inputs, outputs and places are; and commands run in
// their order.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "client/cuda/testing/device_fixture.h"
#include "runtime/reduce/kernels.h"
#include "runtime/reduce/reference.h"

namespace reigen::sdk::cuda {
namespace {

using Bytes = std::vector<std::byte>;

constexpr ReduceOp kOps[] = {ReduceOp::kAverage, ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax,
                             ReduceOp::kProduct};
constexpr reduce::Data kData[] = {reduce::Data::kPlain, reduce::Data::kAnyBits,
                                  reduce::Data::kCorners};

enum class Form { kPartial, kFinal, kCombine, kFinish, kCopy };

// One command, and what it should leave, by the CPU's kernels.
class RandomCommand {
 public:
  RandomCommand(uint64_t seed, const DeviceRange& memory, FakeDriver& driver, CuStream stream)
      : random_(seed), memory_(memory), driver_(driver), stream_(stream) {
    Choose();
    const size_t items = Roll(4) == 0 ? 1 + Roll(40) : 1 + Roll(3);
    for (size_t i = 0; i < items; ++i) AddItem();
  }
  const Command& command() const { return command_; }

  void Check(uint64_t seed) {
    for (const auto& [address, bytes] : expected_) {
      ASSERT_EQ(driver_.ReadBytes(address, bytes.size(), stream_), bytes)
          << "seed " << seed << ", form " << static_cast<int>(form_) << " of "
          << Name(spec_.dtype) << " " << Name(spec_.op) << ", " << command_.items.size()
          << " items, " << command_.inputs << " inputs, " << command_.outputs << " outputs";
    }
  }

 private:
  size_t Roll(size_t below) { return random_() % below; }

  void Choose() {
    spec_.dtype = static_cast<DataType>(Roll(kDataTypeCount));
    const bool is_bool = spec_.dtype == DataType::kBool;
    spec_.wire = IsHalf(spec_.dtype) && Roll(2) == 0 ? DataType::kFloat32 : spec_.dtype;
    do {
      spec_.op = kOps[Roll(std::size(kOps))];
    } while (is_bool && spec_.op == ReduceOp::kAverage);
    if (!is_bool && Roll(2) == 0) spec_.prescale = 0.375;
    if (!is_bool && Roll(2) == 0) spec_.postscale = -1.5;
    if (spec_.op == ReduceOp::kAverage) spec_.divisor = 1 + Roll(9);
    form_ = static_cast<Form>(Roll(5));
    data_ = kData[Roll(3)];
    const bool finishes = form_ == Form::kFinal || form_ == Form::kFinish;
    command_.kind = form_ == Form::kCopy ? CommandKind::kCopy : CommandKind::kReduce;
    command_.dtype = form_ == Form::kCombine ? spec_.wire : spec_.dtype;
    command_.received = spec_.wire;
    command_.out = finishes || form_ == Form::kCopy ? spec_.dtype : spec_.wire;
    command_.op = spec_.op;
    if (form_ == Form::kPartial || form_ == Form::kFinal) command_.prescale = spec_.prescale;
    if (finishes) command_.postscale = spec_.postscale;
    if (finishes) command_.divisor = spec_.divisor;
    command_.inputs = static_cast<uint32_t>(1 + Roll(kMaxCommandAddresses));
    if (form_ == Form::kCombine || form_ == Form::kCopy) command_.inputs = 1;
    command_.reads_host = form_ == Form::kCopy && Roll(2) == 0;
    if (form_ == Form::kFinish) command_.inputs = 0;
    command_.outputs = static_cast<uint32_t>(Roll(2) == 0 ? 1 : 1 + Roll(kMaxCommandAddresses));
    command_.has_received = form_ == Form::kCombine || form_ == Form::kFinish ||
                            (form_ != Form::kCopy && Roll(2) == 0);
  }

  // A place of its own, off a row's begin as often as not.
  CuAddress Place(DataType type, size_t count) {
    used_ += Roll(2) == 0 ? (64 - used_ % 64) : Roll(4) * 8 + (8 - used_ % 8);
    if (Roll(2) == 0) used_ += ElementBytes(type);
    const CuAddress place = memory_.address() + used_ / ElementBytes(type) * ElementBytes(type);
    used_ = place + count * ElementBytes(type) - memory_.address();
    return place;
  }
  CuAddress Fill(DataType type, size_t count, Bytes* bytes) {
    const CuAddress place = Place(type, count);
    *bytes = reduce::MakeData(type, data_, count, random_());
    driver_.WriteBytes(place, *bytes, stream_);
    return place;
  }

  void AddItem() {
    const size_t count = Roll(30) == 0 ? 70000 : Roll(3000);
    CommandItem& item = command_.items.emplace_back();
    item.count = count;
    std::vector<Bytes> inputs(command_.inputs);
    for (uint32_t k = 0; k < command_.inputs; ++k) {
      item.inputs[k] = Fill(command_.dtype, count, &inputs[k]);
    }
    Bytes received;
    if (command_.has_received) item.received = Fill(spec_.wire, count, &received);
    for (uint32_t k = 0; k < command_.outputs; ++k) item.outputs[k] = Place(command_.out, count);
    // In place, in any of them.
    const uint32_t at = static_cast<uint32_t>(Roll(command_.outputs));
    if (command_.inputs > 0 && command_.out == command_.dtype && Roll(2) == 0) {
      item.outputs[at] = item.inputs[Roll(command_.inputs)];
    } else if (command_.has_received && command_.out == spec_.wire && Roll(2) == 0) {
      item.outputs[at] = item.received;
    }
    const Bytes result = ByTheCpu(inputs, received, count);
    for (uint32_t k = 0; k < command_.outputs; ++k) expected_.push_back({item.outputs[k], result});
  }

  Bytes ByTheCpu(const std::vector<Bytes>& inputs, const Bytes& received, size_t count) const {
    Bytes out(count * ElementBytes(command_.out));
    std::vector<const std::byte*> pointers;
    for (const Bytes& input : inputs) pointers.push_back(input.data());
    std::byte* const to = out.data();
    const std::byte* const from = command_.has_received ? received.data() : nullptr;
    switch (form_) {
      case Form::kPartial: reduce::ReducePartial(spec_, pointers, from, to, count); break;
      case Form::kFinal: reduce::ReduceFinal(spec_, pointers, from, {&to, 1}, count); break;
      case Form::kCombine: reduce::CombineWire(spec_, from, pointers[0], to, count); break;
      case Form::kFinish: reduce::FinishWire(spec_, from, {&to, 1}, count); break;
      case Form::kCopy: out = inputs[0]; break;
    }
    return out;
  }

  std::mt19937_64 random_;
  const DeviceRange& memory_;
  FakeDriver& driver_;
  const CuStream stream_;
  Form form_ = Form::kPartial;
  reduce::Data data_ = reduce::Data::kPlain;
  reduce::ReduceSpec spec_;
  Command command_;
  size_t used_ = 0;
  std::vector<std::pair<CuAddress, Bytes>> expected_;
};

using DeviceCommandTest = FakeDeviceTest;

TEST_F(DeviceCommandTest, HasTheBitsOfTheCpusKernels) {
  const auto memory = Allocate(size_t{64} << 20);
  for (uint64_t seed = 0; seed < 150; ++seed) {
    RandomCommand random(seed, *memory, driver_, stream_);
    std::unique_ptr<Device::Event> written;
    ASSERT_TRUE(device_->Mark(stream_, &written).ok());
    ASSERT_TRUE(written->Wait().ok());
    std::unique_ptr<Device::Event> end;
    const Result started = device_->StartCommand(random.command(), &end);
    ASSERT_TRUE(started.ok()) << seed << ": " << started.text;
    ASSERT_TRUE(end->Wait().ok()) << seed;
    random.Check(seed);
    if (HasFatalFailure()) return;
  }
}

Command AddTo(CuAddress sum, CuAddress x) {
  Command command{.inputs = 2, .items = {}};
  command.items.push_back({.count = 2, .inputs = {sum, x}, .outputs = {sum}});
  return command;
}

TEST_F(DeviceCommandTest, CommandsSeeWhatThoseBeforeThemWrote) {
  const auto memory = Allocate(1);
  const CuAddress x = memory->address();
  driver_.Write(x, {1, 2}, stream_);
  driver_.Write(x + 64, {10, 20}, stream_);
  std::unique_ptr<Device::Event> end;
  ASSERT_TRUE(device_->Mark(stream_, &end).ok());
  ASSERT_TRUE(end->Wait().ok());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(device_->StartCommand(AddTo(x, x + 64), &end).ok());
  }
  ASSERT_TRUE(end->Wait().ok());
  EXPECT_EQ(driver_.Read(x, 2, stream_), (std::vector<float>{51, 102}));
}

TEST_F(DeviceCommandTest, MemoryThatTheGpuDoesNotReachIsAStickyError) {
  std::vector<float> host(2);
  const auto memory = Allocate(1);
  Command command = AddTo(memory->address(), reinterpret_cast<CuAddress>(host.data()));
  std::unique_ptr<Device::Event> end;
  ASSERT_TRUE(device_->StartCommand(command, &end).ok());
  const Result failed = end->Wait();
  EXPECT_EQ(failed.code, REIGEN_UNAVAILABLE);
  EXPECT_NE(failed.text.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << failed.text;
  EXPECT_EQ(device_->StartCommand(command, &end).text, failed.text);
}

TEST_F(DeviceCommandTest, ACallThatFailsIsNamedAndTheNextCommandWorks) {
  const auto memory = Allocate(1);
  const CuAddress x = memory->address();
  Command command = AddTo(x, x + 64);
  command.outputs = 2;
  command.items[0].outputs[1] = x + 128;
  std::unique_ptr<Device::Event> end;
  for (const char* symbol : {"cuCtxPushCurrent_v2", "cuLaunchKernel", "cuMemcpyAsync",
                             "cuEventCreate", "cuEventRecord"}) {
    driver_.FailOnce(symbol, 304);
    const Result failed = device_->StartCommand(command, &end);
    EXPECT_EQ(failed.code, REIGEN_INTERNAL) << symbol;
    EXPECT_NE(failed.text.find(std::string(symbol).substr(0, 10)), std::string::npos)
        << failed.text;
    EXPECT_TRUE(device_->StartCommand(command, &end).ok()) << symbol;
    EXPECT_TRUE(end->Wait().ok()) << symbol;
  }
}

TEST_F(DeviceCommandTest, AHangIsAnErrorAfterTheLimit) {
  options_.wait_limit = milliseconds(50);
  ASSERT_TRUE(Device::Open(options_, 0, &device_).ok());
  const auto memory = Allocate(1);
  driver_.Hang();
  std::unique_ptr<Device::Event> end;
  ASSERT_TRUE(device_->StartCommand(AddTo(memory->address(), memory->address() + 64), &end).ok());
  EXPECT_EQ(end->Wait().code, REIGEN_UNAVAILABLE);
  driver_.Mend();
}

TEST_F(DeviceCommandTest, WithoutKernelsCopiesAloneAreDone) {
  OpenWithoutKernels();
  const auto memory = Allocate(1);
  const CuAddress x = memory->address();
  driver_.Write(x, {1, 2}, stream_);
  std::unique_ptr<Device::Event> end;
  ASSERT_TRUE(device_->Mark(stream_, &end).ok());
  ASSERT_TRUE(end->Wait().ok());
  EXPECT_EQ(device_->StartCommand(AddTo(x, x + 64), &end).code, REIGEN_FAILED_PRECONDITION);
  Command copy{.kind = CommandKind::kCopy, .inputs = 1, .outputs = 2, .items = {}};
  copy.items.push_back({.count = 2, .inputs = {x}, .outputs = {x + 64, x + 128}});
  ASSERT_TRUE(device_->StartCommand(copy, &end).ok());
  ASSERT_TRUE(end->Wait().ok());
  EXPECT_EQ(driver_.Read(x + 64, 2, stream_), (std::vector<float>{1, 2}));
  EXPECT_EQ(driver_.Read(x + 128, 2, stream_), (std::vector<float>{1, 2}));
}

}  // namespace
}  // namespace reigen::sdk::cuda
