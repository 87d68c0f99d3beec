// Goal: what a GPU computes, run on the host, has the bits of the CPU's kernels: for
// every type and operator, any bits, any number of inputs, each form of a reduction.
#include "client/cuda/reduce_kernel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "client/cuda/kernel_list.h"
#include "runtime/reduce/kernels.h"
#include "runtime/reduce/reference.h"

namespace reigen::sdk::cuda {
namespace {

using Bytes = std::vector<std::byte>;

constexpr size_t kCount = 1003;  // no whole number of rows
constexpr ReduceOp kOps[] = {ReduceOp::kAverage, ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax,
                             ReduceOp::kProduct};

using ThreadOf = void (*)(const ReduceBatch&, const ReduceItem&, uint64_t, uint64_t);
#define REIGEN_THREAD(name, Type) &ReduceThread<Type>,
constexpr ThreadOf kThreadOf[] = {REIGEN_REDUCE_KERNELS(REIGEN_THREAD)};
#undef REIGEN_THREAD
static_assert(std::size(kThreadOf) == kDataTypeCount);

// As a launch of a few threads.
void RunOnHost(DataType dtype, const ReduceBatch& batch) {
  constexpr uint64_t kThreads = 3;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    kThreadOf[static_cast<size_t>(dtype)](batch, batch.items[0], thread, kThreads);
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

  // `skip`: elements that everything lies behind, to be out of alignment.
  void Check(const reduce::ReduceSpec& spec, size_t inputs, bool with_received, reduce::Data data,
             size_t skip) {
    const size_t kept = kCount - skip;
    const size_t skip_bytes = skip * ElementBytes(dtype_);
    const size_t skip_wire_bytes = skip * ElementBytes(spec.wire);
    std::vector<Bytes> memory;
    std::vector<const std::byte*> pointers;
    ReduceBatch batch = {};
    for (size_t k = 0; k < inputs; ++k) {
      memory.push_back(reduce::MakeData(dtype_, data, kCount, k + 1));
    }
    for (size_t k = 0; k < inputs; ++k) {
      pointers.push_back(memory[k].data() + skip_bytes);
      batch.items[0].inputs[k] = pointers.back();
    }
    const Bytes received = reduce::MakeData(spec.wire, data, kCount, 77);
    const std::byte* const partial = with_received ? received.data() + skip_wire_bytes : nullptr;
    batch.items[0].received = partial;
    batch.items[0].count = kept;
    batch.item_count = 1;
    batch.input_count = static_cast<uint32_t>(inputs);
    batch.combine = CombineOf(spec.op);
    batch.received_wide = spec.wire != dtype_;
    batch.prescale = spec.prescale;
    batch.postscale = 1.0;
    batch.divisor = 1;
    const std::string what = std::string(Name(dtype_)) + " " + std::string(Name(spec.op)) + " of " +
                             std::to_string(inputs);
    Bytes expected(kCount * ElementBytes(spec.wire));
    Bytes got(expected.size());
    reduce::ReducePartial(spec, pointers, partial, expected.data() + skip_wire_bytes, kept);
    batch.items[0].out = got.data() + skip_wire_bytes;
    batch.out_wide = batch.received_wide;
    RunOnHost(dtype_, batch);
    EXPECT_EQ(std::memcmp(expected.data(), got.data(), got.size()), 0) << "partial " << what;
    expected.assign(kCount * ElementBytes(dtype_), std::byte{0});
    got.assign(expected.size(), std::byte{0});
    std::byte* const out = expected.data() + skip_bytes;
    reduce::ReduceFinal(spec, pointers, partial, {&out, 1}, kept);
    batch.items[0].out = got.data() + skip_bytes;
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
          for (const size_t skip : {0, 1}) {
            for (const size_t inputs : {1, 3, kMaxReduceInputs}) {
              Check(fit, inputs, false, data, skip);
              Check(fit, inputs, true, data, skip);
            }
            Check(fit, 0, true, data, skip);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, ReduceKernelTest, testing::Range(0, kDataTypeCount));

}  // namespace
}  // namespace reigen::sdk::cuda
