#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/hardware/kernel_cases.h"

namespace reigen::hardware {
namespace {

constexpr int kRounds = 20;
constexpr double kGoal = 0.8;

// Seconds for one of `work`, which many are started of.
double SecondsOf(const Gpu& gpu, const std::function<void()>& work) {
  work();
  gpu.Wait();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRounds; ++i) work();
  gpu.Wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / kRounds;
}

// `moved`: bytes read and written by one.
double Report(const std::string& what, double moved, double seconds, double copy_rate) {
  const double rate = moved / seconds / 1e9;
  char text[120];
  if (copy_rate == 0) {
    std::snprintf(text, sizeof text, "%.1f GB/s read and written", rate);
    Row("note", what, text);
  } else {
    std::snprintf(text, sizeof text, "%.1f GB/s, %.2f of the copy (goal %.2f)", rate,
                  rate / copy_rate, kGoal);
    Row(rate >= kGoal * copy_rate ? "pass" : "below", what, text);
  }
  return rate;
}

}  // namespace

bool MeasureKernels(const Gpu& gpu, const sdk::cuda::Kernels& kernels, size_t bytes) {
  using CopyOnDevice = CuResult (*)(CuAddress, CuAddress, size_t, CuStream);
  const auto copy = reinterpret_cast<CopyOnDevice>(gpu.Find("cuMemcpyDtoDAsync_v2"));
  if (copy == nullptr) {
    Row("note", "speed", "not measured: this driver has no cuMemcpyDtoDAsync");
    return true;
  }
  const Memory range(gpu, bytes);
  const Memory tensors(gpu, bytes);
  const auto moved = static_cast<double>(2 * bytes);
  const double copy_rate = Report("copy in device memory", moved, SecondsOf(gpu, [&] {
    gpu.Check("cuMemcpyDtoDAsync", copy(range.address(), tensors.address(), bytes, gpu.stream()));
  }), 0);

  sdk::cuda::PackBatch pack = {};
  pack.range = range.address();
  pack.item_count = 200;
  const auto each = static_cast<uint32_t>(bytes / pack.item_count / 64 * 64);
  for (uint32_t i = 0; i < pack.item_count; ++i) {
    pack.items[i] = {.tensor = tensors.address() + uint64_t{i} * each, .packed = i * each,
                     .bytes = each};
  }
  for (const bool to_tensors : {false, true}) {
    pack.to_tensors = to_tensors ? 1 : 0;
    Report(to_tensors ? "unpack 200 tensors" : "pack 200 tensors",
           2.0 * each * pack.item_count,
           SecondsOf(gpu, [&] { gpu.Check("pack", kernels.Pack(pack, gpu.stream()).code); }),
           copy_rate);
  }

  std::vector<std::unique_ptr<Memory>> inputs;
  sdk::cuda::ReduceBatch batch = {};
  for (int k = 0; k < 4; ++k) {
    inputs.push_back(std::make_unique<Memory>(gpu, bytes));
    batch.items[0].inputs[k] = reinterpret_cast<void*>(inputs.back()->address());
  }
  batch.items[0].out = reinterpret_cast<void*>(range.address());
  batch.item_count = 1;
  batch.input_count = 4;
  batch.prescale = batch.postscale = 1.0;
  batch.divisor = 1;
  for (const DataType dtype : {DataType::kFloat32, DataType::kBFloat16, DataType::kFloat16}) {
    batch.items[0].count = bytes / ElementBytes(dtype);
    Report("reduce 4 of " + std::string(Name(dtype)), static_cast<double>(5 * bytes),
           SecondsOf(gpu, [&] {
             gpu.Check("reduce", kernels.Reduce(dtype, batch, gpu.stream()).code);
           }), copy_rate);
  }
  return true;
}

}  // namespace reigen::hardware
