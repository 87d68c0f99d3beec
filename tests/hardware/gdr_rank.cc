// One rank of a job over hosts whose all-reduces are of GPU memory: are they right, and how
// fast, from 4 KiB on? A part of gdr_check.
//
//   reigenrun -np 2 -H a:1,b:1 gdr_rank [--as TEXT] [--most BYTES]
//
// Each result is compared with the ranks' sum as this GPU makes it; of two ranks, bit for
// bit. Rank 0 prints the rows.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/cuda/kernel_image.h"
#include "client/cuda/kernels.h"
#include "tests/hardware/rank.h"

namespace reigen::hardware {
namespace {

constexpr size_t kFirstBytes = 4096;
constexpr size_t kPatternBytes = size_t{1} << 20;

// Floats that are sums of few powers of two: sums of some ranks are exact in any order.
Bytes PatternOf(int rank) {
  std::vector<float> values(kPatternBytes / 4);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 31 + static_cast<size_t>(rank) * 977) % 4099) * 0.25f;
  }
  Bytes bytes(kPatternBytes);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class GdrRank {
 public:
  GdrRank(const std::string& label, size_t most) : label_(label), most_(most) {
    const std::span<const std::byte> image = sdk::cuda::KernelImage();
    if (image.empty()) Die("no kernels were built in");
    const sdk::cuda::Failed loaded = sdk::cuda::Kernels::Load(gpu_.api(), image, &kernels_);
    if (loaded.code != 0) gpu_.Check(loaded.call, loaded.code);
    for (int rank = 0; rank < job_.size(); ++rank) {
      patterns_.push_back(std::make_unique<Memory>(gpu_, PatternOf(rank)));
    }
  }

  int Run() {
    const Memory tensor(gpu_, most_);
    const Memory expected(gpu_, most_);
    FillExpected(expected.address());
    for (size_t bytes = kFirstBytes; bytes <= most_; bytes *= bytes < (16u << 20) ? 16 : 4) {
      RunSize(bytes, tensor.address(), expected.address());
    }
    job_.Leave();
    return right_ ? 0 : 1;
  }

 private:
  void Fill(CuAddress tensor, size_t bytes) const {
    const CuAddress pattern = patterns_[static_cast<size_t>(job_.rank())]->address();
    for (size_t done = 0; done < bytes; done += kPatternBytes) {
      gpu_.Check("cuMemcpyAsync", gpu_.api().copy(tensor + done, pattern,
                                                  std::min(kPatternBytes, bytes - done),
                                                  gpu_.stream()));
    }
  }

  void FillExpected(CuAddress expected) const {
    for (size_t done = 0; done < most_; done += kPatternBytes) {
      sdk::cuda::ReduceBatch batch = {};
      batch.item_count = 1;
      batch.input_count = static_cast<uint32_t>(patterns_.size());
      for (size_t k = 0; k < patterns_.size(); ++k) {
        batch.items[0].inputs[k] = reinterpret_cast<const void*>(patterns_[k]->address());
      }
      batch.items[0].out = reinterpret_cast<void*>(expected + done);
      batch.items[0].count = std::min(kPatternBytes, most_ - done) / 4;
      batch.prescale = batch.postscale = 1.0;
      batch.divisor = 1;
      gpu_.Check("cuLaunchKernel",
                 kernels_->Reduce(DataType::kFloat32, batch, gpu_.stream()).code);
    }
    gpu_.Wait();
  }

  void RunSize(size_t bytes, CuAddress memory, CuAddress expected) {
    const auto count = static_cast<int64_t>(bytes / 4);
    const std::string name = "x" + std::to_string(bytes);
    const reigen_tensor tensor = job_.Tensor(memory, DataType::kFloat32, &count, 1, name.c_str());
    const auto reduce = [&] {
      job_.Finish(job_.Start(nullptr, {&tensor, 1}, ReduceOp::kSum));
      gpu_.Wait();
    };
    Fill(memory, bytes);
    reduce();
    const bool right = gpu_.Download(memory, bytes) == gpu_.Download(expected, bytes);
    right_ = right_ && right;
    const int rounds = bytes >= (size_t{64} << 20) ? 5 : 20;
    const double seconds = job_.SecondsOf([&] {
      for (int i = 0; i < rounds; ++i) reduce();
    }) / rounds;
    if (job_.rank() != 0 && right) return;
    // What each host sends, and receives, of it.
    const double moved = 2.0 * (job_.size() - 1) / job_.size() * static_cast<double>(bytes);
    char text[120];
    std::snprintf(text, sizeof text, "%.1f us, %.3f GB/s each way", 1e6 * seconds,
                  moved / seconds / 1e9);
    Row(right ? "pass" : "FAIL", label_ + ": " + std::to_string(bytes >> 10) + " KiB",
        right ? text : "a wrong sum on rank " + std::to_string(job_.rank()));
  }

  const std::string label_;
  const size_t most_;
  const JobRank job_;
  const Gpu& gpu_ = job_.gpu();
  std::unique_ptr<sdk::cuda::Kernels> kernels_;
  std::vector<std::unique_ptr<Memory>> patterns_;
  bool right_ = true;
};

}  // namespace
}  // namespace reigen::hardware

int main(int argc, char** argv) {
  std::string label = "all-reduce";
  size_t most = size_t{1} << 30;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string argument = argv[i];
    const std::string value = argv[i + 1];
    if (argument == "--as") label = value;
    if (argument == "--most") std::from_chars(value.data(), value.data() + value.size(), most);
  }
  if (argc % 2 == 0 || most < 4096) {
    std::fprintf(stderr, "usage: gdr_rank [--as TEXT] [--most BYTES]\n");
    return 2;
  }
  return reigen::hardware::GdrRank(label, most).Run();
}
