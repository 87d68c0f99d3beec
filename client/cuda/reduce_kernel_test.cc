// Goal: what a GPU computes, run on the host, has the bits of the CPU's kernels: for
// every type and operator, any bits, any number of inputs, each form of a reduction.
#include "client/cuda/reduce_kernel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "runtime/reduce/kernels.h"
#include "runtime/reduce/reference.h"

namespace reigen::sdk::cuda {
namespace {

using Bytes = std::vector<std::byte>;

constexpr size_t kCount = 2000;
constexpr ReduceOp kOps[] = {ReduceOp::kAverage, ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax,
                             ReduceOp::kProduct};

template <typename Type>
void RunAs(const ReduceBatch& batch) {
  for (uint64_t i = 0; i < batch.items[0].count; ++i) {
    ReduceElement<Type>(batch, batch.items[0], i);
  }
}

void RunOnHost(DataType dtype, const ReduceBatch& batch) {
  switch (dtype) {
    case DataType::kUint8: return RunAs<Plain<uint8_t>>(batch);
    case DataType::kInt8: return RunAs<Plain<int8_t>>(batch);
    case DataType::kInt16: return RunAs<Plain<int16_t>>(batch);
    case DataType::kInt32: return RunAs<Plain<int32_t>>(batch);
    case DataType::kInt64: return RunAs<Plain<int64_t>>(batch);
    case DataType::kFloat16: return RunAs<Float16>(batch);
    case DataType::kBFloat16: return RunAs<BFloat16>(batch);
    case DataType::kFloat32: return RunAs<Plain<float>>(batch);
    case DataType::kFloat64: return RunAs<Plain<double>>(batch);
    case DataType::kBool: return RunAs<Bool>(batch);
  }
}

Combine CombineOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kMin: return Combine::kMin;
    case ReduceOp::kMax: return Combine::kMax;
    case ReduceOp::kProduct: return Combine::kProduct;
    default: return Combine::kSum;
  }
}

class ReduceKernelTest : public testing::TestWithParam<int> {
 protected:
  const DataType dtype_ = static_cast<DataType>(GetParam());

  void Check(const reduce::ReduceSpec& spec, size_t inputs, bool with_received, reduce::Data data) {
    std::vector<Bytes> memory;
    std::vector<const std::byte*> pointers;
    ReduceBatch batch = {};
    for (size_t k = 0; k < inputs; ++k) {
      memory.push_back(reduce::MakeData(dtype_, data, kCount, k + 1));
    }
    for (size_t k = 0; k < inputs; ++k) {
      pointers.push_back(memory[k].data());
      batch.items[0].inputs[k] = memory[k].data();
    }
    const Bytes received = reduce::MakeData(spec.wire, data, kCount, 77);
    batch.items[0].received = with_received ? received.data() : nullptr;
    batch.items[0].count = kCount;
    batch.item_count = 1;
    batch.input_count = static_cast<uint32_t>(inputs);
    batch.combine = CombineOf(spec.op);
    batch.received_wide = spec.wire != dtype_;
    batch.prescale = spec.prescale;
    batch.postscale = 1.0;
    batch.divisor = 1;
    const std::byte* const partial = with_received ? received.data() : nullptr;
    const std::string what = std::string(Name(dtype_)) + " " + std::string(Name(spec.op)) + " of " +
                             std::to_string(inputs);
    Bytes expected(kCount * ElementBytes(spec.wire));
    Bytes got(expected.size());
    reduce::ReducePartial(spec, pointers, partial, expected.data(), kCount);
    batch.items[0].out = got.data();
    batch.out_wide = batch.received_wide;
    RunOnHost(dtype_, batch);
    EXPECT_EQ(std::memcmp(expected.data(), got.data(), got.size()), 0) << "partial " << what;
    expected.assign(kCount * ElementBytes(dtype_), std::byte{0});
    got.assign(expected.size(), std::byte{0});
    std::byte* const out = expected.data();
    reduce::ReduceFinal(spec, pointers, partial, {&out, 1}, kCount);
    batch.items[0].out = got.data();
    batch.out_wide = false;
    batch.postscale = spec.postscale;
    batch.divisor = spec.divisor;
    RunOnHost(dtype_, batch);
    EXPECT_EQ(std::memcmp(expected.data(), got.data(), got.size()), 0) << "final " << what;
  }
};

TEST_P(ReduceKernelTest, HasTheBitsOfTheCpusKernels) {
  const bool half = IsHalf(dtype_);
  for (const ReduceOp op : kOps) {
    if (dtype_ == DataType::kBool && op == ReduceOp::kAverage) continue;
    for (const reduce::Data data :
         {reduce::Data::kPlain, reduce::Data::kAnyBits, reduce::Data::kCorners}) {
      for (const double scale : {1.0, 0.375}) {
        if (dtype_ == DataType::kBool && scale != 1.0) continue;
        for (const DataType wire : {dtype_, DataType::kFloat32}) {
          if (wire != dtype_ && !half) continue;
          const reduce::ReduceSpec spec = {.dtype = dtype_, .wire = wire, .op = op,
                                           .prescale = scale, .postscale = scale * 3,
                                           .divisor = op == ReduceOp::kAverage ? 3u : 1u};
          reduce::ReduceSpec fit = spec;
          if (dtype_ == DataType::kBool) fit.postscale = 1.0;
          for (const size_t inputs : {1, 2, 4, kMaxReduceInputs}) {
            Check(fit, inputs, false, data);
            Check(fit, inputs, true, data);
          }
          Check(fit, 0, true, data);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, ReduceKernelTest, testing::Range(0, kDataTypeCount));

}  // namespace
}  // namespace reigen::sdk::cuda
