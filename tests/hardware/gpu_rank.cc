// One rank of a job whose tensors are on the GPU, which all ranks of the host share: are
// the results right, and do all-reduces run beside computing? A part of gpu_check.
//
//   reigenrun -np 2 gpu_rank [--as "2 ranks"] [--quick]
//
// Rank 0 prints the rows, which begin with that text.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/c/reigen.h"
#include "client/cuda/kernel_image.h"
#include "client/cuda/kernels.h"
#include "tests/hardware/gpu.h"
#include "tests/hardware/rank.h"
#include "tests/hardware/reference.h"
#include "tests/hardware/stream_order.h"

namespace reigen::hardware {
namespace {

class Rank {
 public:
  Rank(const std::string& label, bool quick) : label_(label), quick_(quick) {
    // The image has what a compute-bound trainer would run.
    const std::span<const std::byte> image = sdk::cuda::KernelImage();
    if (!image.empty()) {
      const sdk::cuda::Failed loaded = sdk::cuda::Kernels::Load(gpu_.api(), image, &kernels_);
      if (loaded.code != 0) gpu_.Check(loaded.call, loaded.code);
    }
  }

  int Run() {
    CheckResults();
    CheckGroup();
    CheckStrided();
    const std::string wrong_order = CheckStreamOrder(job_, kernels_.get(), quick_);
    Show(wrong_order.empty(), "order with streams",
         wrong_order.empty() ? "0, 1, 2, blocking, non-blocking" : wrong_order);
    char bits[20];
    std::snprintf(bits, sizeof bits, "%016llx", static_cast<unsigned long long>(bits_));
    if (job_.rank() == 0) Row("note", label_ + ": bits", bits);
    if (kernels_ != nullptr) MeasureOverlap();
    job_.Leave();
    return right_ ? 0 : 1;
  }

 private:
  void Show(bool right, const std::string& what, const std::string& value) {
    right_ = right_ && right;
    if (job_.rank() == 0 || !right) Row(right ? "pass" : "FAIL", label_ + ": " + what, value);
  }

  // A result, for the hash of all that shows if another way gives the same bits.
  Bytes Result(CuAddress memory, size_t bytes) {
    Bytes result = gpu_.Download(memory, bytes);
    for (const std::byte b : result) {  // FNV-1a
      bits_ = (bits_ ^ static_cast<uint64_t>(b)) * 0x100000001b3;
    }
    return result;
  }

  // What all ranks have, each from its number.
  Case CaseOf(DataType dtype, ReduceOp op, size_t count, uint64_t seed) const {
    Case reduction = {.dtype = dtype, .op = op, .inputs = {}, .received = {}, .prescale = 1.0,
                      .postscale = 1.0, .divisor = 1, .hosts = reigen_cross_size()};
    if (op == ReduceOp::kAverage) reduction.divisor = static_cast<uint64_t>(job_.size());
    for (int rank = 0; rank < job_.size(); ++rank) {
      reduction.inputs.push_back(
          RandomElements(dtype, count, seed * 100 + static_cast<uint64_t>(rank)));
    }
    return reduction;
  }
  const Bytes& Mine(const Case& reduction) const {
    return reduction.inputs[static_cast<size_t>(job_.rank())];
  }

  void CheckResults() {
    const int64_t count = quick_ ? 5001 : 1000003;
    int cases = 0;
    std::string wrong;
    for (int number = 0; number < kDataTypeCount; ++number) {
      const auto dtype = static_cast<DataType>(number);
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax,
                                ReduceOp::kProduct}) {
        if (dtype == DataType::kBool && op == ReduceOp::kAverage) continue;
        const Case reduction = CaseOf(dtype, op, static_cast<size_t>(count), 1);
        const Memory memory(gpu_, Mine(reduction));
        const reigen_tensor tensor = job_.Tensor(memory.address(), dtype, &count, 1, "x");
        job_.Finish(job_.Start(nullptr, {&tensor, 1}, op));
        const std::string here =
            Compare(reduction, Result(memory.address(), Mine(reduction).size()),
                    static_cast<size_t>(count));
        ++cases;
        if (wrong.empty() && !here.empty()) {
          wrong = std::string(Name(dtype)) + " " + std::string(Name(op)) + ": " + here;
        }
      }
    }
    Show(wrong.empty(), "every dtype and op",
         wrong.empty() ? std::to_string(cases) + " all-reduces of " + std::to_string(count)
                       : wrong);
  }

  void CheckGroup() {
    constexpr size_t kTensors = 300;
    std::vector<Case> cases;
    std::vector<std::unique_ptr<Memory>> memory;
    std::vector<std::string> names(kTensors);
    std::vector<int64_t> counts(kTensors);
    std::vector<reigen_tensor> tensors;
    for (size_t i = 0; i < kTensors; ++i) {
      counts[i] = static_cast<int64_t>(1 + i * 37 % 2000);
      names[i] = "g" + std::to_string(i);
      cases.push_back(CaseOf(DataType::kFloat32, ReduceOp::kAverage,
                             static_cast<size_t>(counts[i]), i + 2));
      memory.push_back(std::make_unique<Memory>(gpu_, Mine(cases[i])));
      tensors.push_back(job_.Tensor(memory[i]->address(), DataType::kFloat32, &counts[i], 1,
                               names[i].c_str()));
    }
    job_.Finish(job_.Start("group", tensors, ReduceOp::kAverage));
    std::string wrong;
    for (size_t i = 0; i < kTensors && wrong.empty(); ++i) {
      wrong = Compare(cases[i], Result(memory[i]->address(), Mine(cases[i]).size()),
                      static_cast<size_t>(counts[i]));
    }
    Show(wrong.empty(), "a group of 300", wrong.empty() ? "1 to 2000 elements" : wrong);
  }

  // Stored by columns on every rank: elements meet in the same places.
  void CheckStrided() {
    constexpr int64_t kShape[2] = {500, 333};
    constexpr int64_t kStrides[2] = {4, 2000};
    const Case reduction = CaseOf(DataType::kFloat32, ReduceOp::kSum, 500 * 333, 1000);
    const Memory memory(gpu_, Mine(reduction));
    reigen_tensor tensor = job_.Tensor(memory.address(), DataType::kFloat32, kShape, 2, "t");
    tensor.input_strides = tensor.output_strides = kStrides;
    job_.Finish(job_.Start(nullptr, {&tensor, 1}, ReduceOp::kSum));
    const std::string wrong = Compare(
        reduction, Result(memory.address(), Mine(reduction).size()), 500 * 333);
    Show(wrong.empty(), "strided", wrong.empty() ? "500 x 333, by columns" : wrong);
  }

  // Kernels on the trainer's stream, and all-reduces of other memory that another stream
  // has ready, as gradients of a backward pass are.
  void MeasureOverlap() {
    const size_t bytes = size_t{quick_ ? 1u : 64u} << 20;
    const auto count = static_cast<int64_t>(bytes / 4);
    const Memory gradients(gpu_, Bytes(bytes));
    const Memory input(gpu_, Bytes(bytes));
    const Memory output(gpu_, bytes);
    CuStream ready = nullptr;
    gpu_.Check("cuStreamCreate",
               gpu_.api().stream_create(&ready, sdk::cuda::kCuStreamNonBlocking, 0));
    reigen_tensor tensor = job_.Tensor(gradients.address(), DataType::kFloat32, &count, 1, "grad");
    tensor.stream = reinterpret_cast<uintptr_t>(ready);
    sdk::cuda::ReduceBatch batch = {};
    batch.item_count = 1;
    batch.input_count = 1;
    batch.items[0].inputs[0] = reinterpret_cast<const void*>(input.address());
    batch.items[0].out = reinterpret_cast<void*>(output.address());
    batch.items[0].count = static_cast<uint64_t>(count);
    batch.prescale = batch.postscale = 1.0;
    batch.divisor = 1;
    const auto compute = [&](int launches) {
      for (int i = 0; i < launches; ++i) {
        gpu_.Check("cuLaunchKernel",
                   kernels_->Reduce(DataType::kFloat32, batch, gpu_.stream()).code);
      }
    };
    const auto reduce = [&] {
      job_.Finish(job_.Start(nullptr, {&tensor, 1}, ReduceOp::kSum));
      gpu_.Wait(ready);  // for the result
    };
    reduce();
    const double reduce_seconds = job_.SecondsOf(reduce);
    // As much computing as the all-reduce takes.
    const double one_seconds = job_.SecondsOf([&] { compute(10); gpu_.Wait(); }) / 10;
    const int launches =
        std::clamp(static_cast<int>(reduce_seconds / one_seconds), 1, quick_ ? 3 : 100000);
    const double compute_seconds = job_.SecondsOf([&] { compute(launches); gpu_.Wait(); });
    const double both_seconds = job_.SecondsOf([&] {
      compute(launches);
      reduce();
      gpu_.Wait();
    });
    if (job_.rank() != 0) return;
    char text[160];
    std::snprintf(text, sizeof text,
                  "%.2f ms; compute alone %.2f, all-reduce of %zu MiB alone %.2f", 1e3 * both_seconds,
                  1e3 * compute_seconds, bytes >> 20, 1e3 * reduce_seconds);
    Row("note", label_ + ": both together", text);
  }

  const std::string label_;
  const bool quick_;
  const JobRank job_;
  const Gpu& gpu_ = job_.gpu();
  std::unique_ptr<sdk::cuda::Kernels> kernels_;
  bool right_ = true;
  uint64_t bits_ = 0xcbf29ce484222325;
};

}  // namespace
}  // namespace reigen::hardware

int main(int argc, char** argv) {
  std::string label = "ranks";
  bool quick = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--quick") {
      quick = true;
    } else if (argument == "--as" && i + 1 < argc) {
      label = argv[++i];
    } else {
      std::fprintf(stderr, "usage: gpu_rank [--as TEXT] [--quick]\n");
      return 2;
    }
  }
  return reigen::hardware::Rank(label, quick).Run();
}
