// The engine on one host, beside what its memory can do: all ranks' inputs read
// once, all outputs written once, in place, is the floor (2 * ranks * bytes).
//
//   bazel run -c opt //tests/bench:engine_bench
#include <benchmark/benchmark.h>
#include <poll.h>
#include <sys/mman.h>

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "runtime/collective/engine.h"

namespace reigen::collective {
namespace {

constexpr int kThreads = 2;

// As an arena: shared pages, touched.
class Arena {
 public:
  explicit Arena(size_t bytes) : bytes_(bytes) {
    void* const base =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REIGEN_CHECK(base != MAP_FAILED);
    base_ = static_cast<std::byte*>(base);
    std::memset(base_, 0, bytes);
  }
  ~Arena() { munmap(base_, bytes_); }
  Arena(Arena&& other) noexcept : base_(other.base_), bytes_(std::exchange(other.bytes_, 0)) {}
  std::byte* data() const { return base_; }

 private:
  std::byte* base_;
  size_t bytes_;
};

void Await(WorkExecutor& executor, const std::function<bool()>& done,
           const std::function<void()>& progress) {
  for (;;) {
    progress();
    if (done()) return;
    pollfd event{executor.event_fd(), POLLIN, 0};
    poll(&event, 1, /*timeout_ms=*/100);
  }
}

std::vector<Arena> Arenas(int64_t count, size_t bytes) {
  std::vector<Arena> arenas;
  for (int64_t i = 0; i < count; ++i) arenas.emplace_back(bytes);
  return arenas;
}

// {ranks, tensors, KiB of each}
void OneHostAllreduce(benchmark::State& state) {
  const auto ranks = state.range(0);
  const auto tensors = static_cast<size_t>(state.range(1));
  const size_t bytes = static_cast<size_t>(state.range(2)) << 10;
  const std::vector<Arena> arenas = Arenas(ranks, tensors * bytes);
  const auto executor = MakePoolExecutor(kThreads);
  const auto engine = MakeEngine(
      {}, [](int) { return nullptr; }, executor.get());
  uint64_t sequence = 0;
  for (auto _ : state) {
    Bucket bucket;
    bucket.id.sequence = ++sequence;
    bucket.hosts = {0};
    for (size_t t = 0; t < tensors; ++t) {
      BucketTensor& tensor = bucket.tensors.emplace_back();
      tensor.count = bytes / sizeof(float);
      for (const Arena& arena : arenas) {
        tensor.inputs.push_back(arena.data() + t * bytes);
        tensor.outputs.push_back(arena.data() + t * bytes);
      }
    }
    bool ended = false;
    bucket.done = [&](const Status& status) {
      REIGEN_CHECK(status.ok());
      ended = true;
    };
    engine->Start(std::move(bucket));
    Await(
        *executor, [&] { return ended; }, [&] { engine->Progress(Time{}); });
  }
  state.SetBytesProcessed(state.iterations() * 2 * ranks * static_cast<int64_t>(tensors * bytes));
}
BENCHMARK(OneHostAllreduce)
    ->Args({4, 1, 64 << 10})
    ->Args({2, 1, 64 << 10})
    ->Args({4, 1, 1 << 10})
    ->Args({4, 1, 64})
    ->Args({4, 1, 4})
    ->Args({4, 1000, 4})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

// The same traffic as reads and writes of a copy, by as many threads: {ranks, KiB}.
void CopyOfTheSameTraffic(benchmark::State& state) {
  const auto ranks = state.range(0);
  const size_t bytes = static_cast<size_t>(state.range(1)) << 10;
  const std::vector<Arena> arenas = Arenas(2 * ranks, bytes);
  const auto executor = MakePoolExecutor(kThreads);
  for (auto _ : state) {
    int out = 0;
    for (int64_t r = 0; r < ranks; ++r) {
      ++out;
      executor->Submit(
          [&, r] { std::memcpy(arenas[2 * r].data(), arenas[2 * r + 1].data(), bytes); },
          [&] { --out; });
    }
    Await(
        *executor, [&] { return out == 0; }, [&] { executor->Progress(); });
  }
  state.SetBytesProcessed(state.iterations() * 2 * ranks * static_cast<int64_t>(bytes));
}
BENCHMARK(CopyOfTheSameTraffic)
    ->Args({4, 64 << 10})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace reigen::collective

BENCHMARK_MAIN();
