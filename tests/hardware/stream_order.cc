#include "tests/hardware/stream_order.h"

#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "client/c/reigen.h"

namespace reigen::hardware {
namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

constexpr int kRounds = 3;
constexpr double kSlowSeconds = 0.05;
constexpr uint64_t kSlowElements = 4 << 20;
constexpr uint64_t kQuickElements = 16 << 10;

Bytes Filled(int64_t count, float value) {
  const std::vector<float> values(static_cast<size_t>(count), value);
  Bytes bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Kernels that keep a stream busy.
class Slow {
 public:
  Slow(const Gpu& gpu, const sdk::cuda::Kernels* kernels, bool quick)
      : gpu_(gpu),
        kernels_(kernels),
        input_(gpu, Filled(static_cast<int64_t>(quick ? kQuickElements : kSlowElements), 1.0f)),
        output_(gpu, (quick ? kQuickElements : kSlowElements) * sizeof(float)) {
    batch_.item_count = batch_.input_count = 1;
    batch_.items[0].inputs[0] = reinterpret_cast<const void*>(input_.address());
    batch_.items[0].out = reinterpret_cast<void*>(output_.address());
    batch_.items[0].count = quick ? kQuickElements : kSlowElements;
    batch_.prescale = batch_.postscale = 1.0;
    batch_.divisor = 1;
    if (kernels_ == nullptr || quick) return;
    Launch(10, gpu.stream());
    gpu.Wait();  // the first launches are slower
    const auto begin = steady_clock::now();
    Launch(10, gpu.stream());
    gpu.Wait();
    const double one = duration<double>(steady_clock::now() - begin).count() / 10;
    launches_ = static_cast<int>(kSlowSeconds / one) + 1;
  }

  void Start(CuStream stream) const { Launch(launches_, stream); }

 private:
  void Launch(int launches, CuStream stream) const {
    for (int i = 0; kernels_ != nullptr && i < launches; ++i) {
      gpu_.Check("cuLaunchKernel", kernels_->Reduce(DataType::kFloat32, batch_, stream).code);
    }
  }

  const Gpu& gpu_;
  const sdk::cuda::Kernels* kernels_;
  const Memory input_;
  const Memory output_;
  sdk::cuda::ReduceBatch batch_ = {};
  int launches_ = 3;
};

// One tensor on one stream, with what it is filled from and what takes its result.
struct Flow {
  Flow(const JobRank& job, const std::string& its_kind, CuStream its_stream, int64_t count, float value)
      : kind(its_kind),
        stream(its_stream),
        name("order " + its_kind),
        source(job.gpu(), Filled(count, value)),
        tensor(job.gpu(), Filled(count, -1.0f)),
        result(job.gpu(), Filled(count, -2.0f)) {}

  const std::string kind;
  const CuStream stream;
  const std::string name;
  const Memory source;
  const Memory tensor;
  const Memory result;
};

CuStream NewStream(const Gpu& gpu, unsigned flags) {
  CuStream stream = nullptr;
  gpu.Check("cuStreamCreate", gpu.api().stream_create(&stream, flags, 0));
  return stream;
}

}  // namespace

std::string CheckStreamOrder(const JobRank& job, const sdk::cuda::Kernels* kernels, bool quick) {
  const Gpu& gpu = job.gpu();
  const int64_t count = quick ? 3001 : 1000003;
  const size_t bytes = static_cast<size_t>(count) * sizeof(float);
  const auto value = static_cast<float>(job.rank() + 1);
  const auto size = static_cast<float>(job.size());
  const Bytes sum = Filled(count, size * (size + 1) / 2);
  const CuStream blocking = NewStream(gpu, 0);
  const CuStream non_blocking = NewStream(gpu, sdk::cuda::kCuStreamNonBlocking);
  std::vector<std::unique_ptr<Flow>> flows;
  const auto add = [&](const char* kind, CuStream stream) {
    flows.push_back(std::make_unique<Flow>(job, kind, stream, count, value));
  };
  add("stream 0", nullptr);
  add("stream 1", reinterpret_cast<CuStream>(1));
  add("stream 2", reinterpret_cast<CuStream>(2));
  add("a blocking stream", blocking);
  add("a non-blocking stream", non_blocking);
  const Slow slow(gpu, kernels, quick);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<reigen_handle> handles;
    for (const auto& flow : flows) {
      slow.Start(flow->stream);
      gpu.Check("cuMemcpyAsync", gpu.api().copy(flow->tensor.address(), flow->source.address(),
                                                bytes, flow->stream));
      reigen_tensor tensor =
          job.Tensor(flow->tensor.address(), DataType::kFloat32, &count, 1, flow->name.c_str());
      tensor.stream = reinterpret_cast<uintptr_t>(flow->stream);
      handles.push_back(job.Start(nullptr, {&tensor, 1}, ReduceOp::kSum));
    }
    for (size_t i = 0; i < flows.size(); ++i) {
      job.Finish(handles[i]);
      gpu.Check("cuMemcpyAsync", gpu.api().copy(flows[i]->result.address(), flows[i]->tensor.address(),
                                                bytes, flows[i]->stream));
    }
    for (const auto& flow : flows) {
      gpu.Wait(flow->stream);
      if (gpu.Download(flow->result.address(), bytes) != sum) {
        return flow->kind + ": round " + std::to_string(round) + ": another result than the sum";
      }
      gpu.Write(flow->result.address(), Filled(count, -2.0f));
      gpu.Write(flow->tensor.address(), Filled(count, -1.0f));
    }
  }
  gpu.Check("cuStreamDestroy", gpu.api().stream_destroy(blocking));
  gpu.Check("cuStreamDestroy", gpu.api().stream_destroy(non_blocking));
  return "";
}

}  // namespace reigen::hardware
