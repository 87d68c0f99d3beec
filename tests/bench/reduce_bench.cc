// How near the kernels come to the memory's rate: GB/s of what is read and written,
// beside a memcpy of as many bytes in the same run.
//
//   bazel run --config=opt //tests/bench:reduce_bench
//
// "cached" blocks are segments of a pipeline (256 KiB), "memory" ones are larger
// than the caches near a core.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/reduce/kernels.h"

namespace reigen::reduce {
namespace {

constexpr size_t kSegmentBytes = size_t{256} << 10;
constexpr size_t kMemoryBytes = size_t{64} << 20;

// Buffers of ones: no subnormal ever slows an addition.
std::vector<std::byte> Buffer(DataType dtype, size_t bytes) {
  std::vector<std::byte> buffer(bytes, std::byte{0});
  for (size_t i = 0; i < bytes; i += ElementBytes(dtype)) {
    if (dtype == DataType::kFloat32) {
      const float one = 1;
      std::memcpy(&buffer[i], &one, sizeof one);
    } else {
      buffer[i + ElementBytes(dtype) - 1] = std::byte{0x3c};
    }
  }
  return buffer;
}

void SetRate(benchmark::State& state, size_t bytes_moved) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(bytes_moved));
}

// Moves as many bytes as a reduction of `streams` - 1 inputs to one output.
void Memcpy(benchmark::State& state, size_t bytes, size_t streams) {
  const size_t half = bytes * streams / 2;
  const std::vector<std::byte> from(half, std::byte{1});
  std::vector<std::byte> to(half);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), half);
    benchmark::ClobberMemory();
  }
  SetRate(state, 2 * half);
}

void Reduce(benchmark::State& state, DataType dtype, ReduceOp op, size_t ranks, size_t bytes) {
  std::vector<std::vector<std::byte>> buffers(ranks, Buffer(dtype, bytes));
  std::vector<std::byte> result(bytes);
  std::vector<const std::byte*> inputs;
  for (const auto& buffer : buffers) inputs.push_back(buffer.data());
  std::byte* const out = result.data();
  const ReduceSpec spec{dtype, dtype, op, 1, 1, op == ReduceOp::kAverage ? ranks : 1};
  for (auto _ : state) {
    ReduceFinal(spec, inputs, nullptr, {&out, 1}, bytes / ElementBytes(dtype));
    benchmark::ClobberMemory();
  }
  SetRate(state, (ranks + 1) * bytes);
}

// One host's all-reduce: every rank's buffer is read, then gets the result.
void InPlace(benchmark::State& state, DataType dtype, size_t ranks, size_t bytes) {
  std::vector<std::vector<std::byte>> buffers(ranks, Buffer(dtype, bytes));
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outs;
  for (auto& buffer : buffers) {
    inputs.push_back(buffer.data());
    outs.push_back(buffer.data());
  }
  const ReduceSpec spec{dtype, dtype, ReduceOp::kMax, 1, 1, 1};
  for (auto _ : state) {
    ReduceFinal(spec, inputs, nullptr, outs, bytes / ElementBytes(dtype));
    benchmark::ClobberMemory();
  }
  SetRate(state, 2 * ranks * bytes);
}

void RegisterSize(const std::string& where, size_t bytes) {
  const auto add = [&](const std::string& name, auto run) {
    benchmark::RegisterBenchmark((name + "/" + where).c_str(), run)->UseRealTime();
  };
  add("memcpy", [=](benchmark::State& s) { Memcpy(s, bytes, 5); });
  for (DataType dtype : {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16,
                         DataType::kFloat64, DataType::kInt32, DataType::kInt8}) {
    add("sum4_" + std::string(Name(dtype)),
        [=](benchmark::State& s) { Reduce(s, dtype, ReduceOp::kSum, 4, bytes); });
  }
  add("average4_float32",
      [=](benchmark::State& s) { Reduce(s, DataType::kFloat32, ReduceOp::kAverage, 4, bytes); });
  add("average4_int32",
      [=](benchmark::State& s) { Reduce(s, DataType::kInt32, ReduceOp::kAverage, 4, bytes); });
  add("max4_float32",
      [=](benchmark::State& s) { Reduce(s, DataType::kFloat32, ReduceOp::kMax, 4, bytes); });
  add("sum2_float32",
      [=](benchmark::State& s) { Reduce(s, DataType::kFloat32, ReduceOp::kSum, 2, bytes); });
  add("in_place4_float32",
      [=](benchmark::State& s) { InPlace(s, DataType::kFloat32, 4, bytes); });
}

}  // namespace
}  // namespace reigen::reduce

int main(int argc, char** argv) {
  reigen::reduce::RegisterSize("cached", reigen::reduce::kSegmentBytes);
  reigen::reduce::RegisterSize("memory", reigen::reduce::kMemoryBytes);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
