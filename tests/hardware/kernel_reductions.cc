#include <cstring>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "client/cuda/kernel_list.h"
#include "tests/hardware/forms.h"
#include "tests/hardware/kernel_cases.h"
#include "tests/hardware/reference.h"

namespace reigen::hardware {
namespace {

using sdk::cuda::Combine;
using sdk::cuda::ReduceBatch;
using sdk::cuda::ReduceItem;

using ThreadOf = void (*)(const ReduceBatch&, const ReduceItem&, uint64_t, uint64_t);
#define REIGEN_THREAD(name, Type) &sdk::cuda::ReduceThread<sdk::cuda::Type>,
constexpr ThreadOf kThreadOf[] = {REIGEN_REDUCE_KERNELS(REIGEN_THREAD)};
#undef REIGEN_THREAD
static_assert(std::size(kThreadOf) == kDataTypeCount);

Combine CombineOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kMin: return Combine::kMin;
    case ReduceOp::kMax: return Combine::kMax;
    case ReduceOp::kProduct: return Combine::kProduct;
    default: return Combine::kSum;
  }
}

ReduceBatch BatchOf(const Case& reduction, size_t count) {
  ReduceBatch batch = {};
  batch.item_count = 1;
  batch.input_count = static_cast<uint32_t>(reduction.inputs.size());
  batch.items[0].count = count;
  batch.prescale = reduction.prescale;
  batch.postscale = reduction.postscale;
  batch.divisor = reduction.divisor;
  batch.combine = CombineOf(reduction.op);
  batch.received_wide = reduction.received_wide;
  batch.out_wide = reduction.out_wide;
  return batch;
}

class Reduction {
 public:
  // On the GPU everything lies `skip` elements behind an aligned address.
  Reduction(const Gpu& gpu, const sdk::cuda::Kernels& kernels, const Case& reduction, size_t count,
            size_t skip)
      : gpu_(gpu), kernels_(kernels), case_(reduction), count_(count), skip_(skip),
        out_bytes_(count * ElementBytesOf(reduction.dtype, reduction.out_wide)) {}

  Bytes OnGpu() const {
    ReduceBatch batch = BatchOf(case_, count_);
    std::vector<std::unique_ptr<Memory>> memory;
    const auto upload = [&](Bytes bytes, bool wide) {
      const size_t before = skip_ * ElementBytesOf(case_.dtype, wide);
      bytes.insert(bytes.begin(), before, std::byte{0});
      memory.push_back(std::make_unique<Memory>(gpu_, bytes));
      return reinterpret_cast<void*>(memory.back()->address() + before);
    };
    for (size_t k = 0; k < case_.inputs.size(); ++k) {
      batch.items[0].inputs[k] = upload(case_.inputs[k], false);
    }
    if (!case_.received.empty()) {
      batch.items[0].received = upload(case_.received, case_.received_wide);
    }
    const size_t before = skip_ * ElementBytesOf(case_.dtype, case_.out_wide);
    const Memory out(gpu_, before + out_bytes_);
    batch.items[0].out = reinterpret_cast<void*>(out.address() + before);
    const sdk::cuda::Failed launched = kernels_.Reduce(case_.dtype, batch, gpu_.stream());
    gpu_.Check("cuLaunchKernel", launched.code);
    return gpu_.Download(out.address() + before, out_bytes_);
  }

  Bytes OnHost() const {
    ReduceBatch batch = BatchOf(case_, count_);
    for (size_t k = 0; k < case_.inputs.size(); ++k) {
      batch.items[0].inputs[k] = case_.inputs[k].data();
    }
    if (!case_.received.empty()) batch.items[0].received = case_.received.data();
    Bytes out(out_bytes_);
    batch.items[0].out = out.data();
    kThreadOf[static_cast<size_t>(case_.dtype)](batch, batch.items[0], 0, 1);
    return out;
  }

 private:
  const Gpu& gpu_;
  const sdk::cuda::Kernels& kernels_;
  const Case& case_;
  const size_t count_;
  const size_t skip_;
  const size_t out_bytes_;
};

Bytes AnyBits(size_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes out(bytes);
  for (std::byte& b : out) b = static_cast<std::byte>(random());
  return out;
}

// "" or what is wrong.
std::string CheckOne(const Gpu& gpu, const sdk::cuda::Kernels& kernels, DataType dtype,
                     ReduceOp op, const Form& form, size_t count) {
  Case reduction = CaseOf(dtype, op, form, count);
  const Reduction random(gpu, kernels, reduction, count, form.skip);
  const Bytes got = random.OnGpu();
  std::string wrong = Compare(reduction, got, count);
  if (!wrong.empty()) return wrong;
  if (got != random.OnHost()) return "other bits than on the host";
  for (size_t k = 0; k < form.inputs; ++k) {
    reduction.inputs[k] = AnyBits(reduction.inputs[k].size(), k + 1);
  }
  if (form.received) reduction.received = AnyBits(reduction.received.size(), 99);
  const Reduction any(gpu, kernels, reduction, count, form.skip);
  return any.OnGpu() == any.OnHost() ? "" : "of any bits, other bits than on the host";
}

}  // namespace

bool CheckReductions(const Gpu& gpu, const sdk::cuda::Kernels& kernels, size_t count) {
  constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax,
                               ReduceOp::kProduct};
  bool all_right = true;
  for (int number = 0; number < kDataTypeCount; ++number) {
    const auto dtype = static_cast<DataType>(number);
    std::string wrong;
    int cases = 0;
    for (const ReduceOp op : kOps) {
      if (dtype == DataType::kBool && op == ReduceOp::kAverage) continue;
      for (const Form& form : FormsOf(dtype)) {
        const std::string here = CheckOne(gpu, kernels, dtype, op, form, count);
        ++cases;
        if (here.empty() || !wrong.empty()) continue;
        wrong = std::string(Name(op)) + " " + Describe(form) + ": " + here;
      }
    }
    Row(wrong.empty() ? "pass" : "FAIL", "reduce " + std::string(Name(dtype)),
        wrong.empty() ? std::to_string(cases) + " cases of " + std::to_string(count) + " elements"
                      : wrong);
    all_right = all_right && wrong.empty();
  }
  return all_right;
}

}  // namespace reigen::hardware
