#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/hardware/kernel_cases.h"

namespace reigen::hardware {
namespace {

using sdk::cuda::PackBatch;
using sdk::cuda::StridedBatch;

Bytes Numbers(size_t bytes, size_t seed) {
  Bytes out(bytes);
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
  return out;
}

// Tensors of the given sizes, each `shift` bytes off its allocation, there and back.
std::string PackSizes(const Gpu& gpu, const sdk::cuda::Kernels& kernels,
                      const std::vector<uint32_t>& sizes, uint32_t shift) {
  PackBatch batch = {};
  std::vector<std::unique_ptr<Memory>> memory;
  uint32_t packed = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    memory.push_back(std::make_unique<Memory>(gpu, Numbers(sizes[i] + 64, i)));
    batch.items[i] = {.tensor = memory[i]->address() + shift, .packed = packed, .bytes = sizes[i]};
    packed += (sizes[i] + 63) / 64 * 64;
  }
  const Memory range(gpu, Numbers(packed, 1000));
  batch.range = range.address();
  batch.item_count = static_cast<uint32_t>(sizes.size());
  gpu.Check("cuLaunchKernel", kernels.Pack(batch, gpu.stream()).code);
  Bytes expected = Numbers(packed, 1000);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Bytes tensor = Numbers(sizes[i] + 64, i);
    std::copy_n(tensor.begin() + shift, sizes[i], expected.begin() + batch.items[i].packed);
  }
  if (gpu.Download(range.address(), packed) != expected) return "packed wrong";
  for (size_t i = 0; i < sizes.size(); ++i) {
    gpu.Write(memory[i]->address(), Bytes(sizes[i] + 64, std::byte{0xa5}));
  }
  batch.to_tensors = 1;
  gpu.Check("cuLaunchKernel", kernels.Pack(batch, gpu.stream()).code);
  for (size_t i = 0; i < sizes.size(); ++i) {
    Bytes tensor(sizes[i] + 64, std::byte{0xa5});
    std::copy_n(expected.begin() + batch.items[i].packed, sizes[i], tensor.begin() + shift);
    if (gpu.Download(memory[i]->address(), tensor.size()) != tensor) return "unpacked wrong";
  }
  return "";
}

// A matrix stored by columns, `size` bytes an element.
std::string PackTransposed(const Gpu& gpu, const sdk::cuda::Kernels& kernels, uint32_t size) {
  constexpr uint64_t kRows = 301;
  constexpr uint64_t kColumns = 77;
  const uint32_t bytes = static_cast<uint32_t>(kRows * kColumns) * size;
  const Bytes stored = Numbers(bytes, size);
  Bytes expected(bytes);
  for (uint64_t row = 0; row < kRows; ++row) {
    for (uint64_t column = 0; column < kColumns; ++column) {
      std::copy_n(stored.begin() + static_cast<long>((column * kRows + row) * size), size,
                  expected.begin() + static_cast<long>((row * kColumns + column) * size));
    }
  }
  const Memory tensor(gpu, stored);
  const Memory range(gpu, bytes);
  StridedBatch batch = {};
  batch.range = range.address();
  batch.item_count = 1;
  batch.items[0] = {.tensor = tensor.address(), .packed = 0, .bytes = bytes, .first = 0,
                    .element_bytes = size, .dims = 2, .extents = {kRows, kColumns},
                    .strides = {size, static_cast<int64_t>(kRows * size)}};
  gpu.Check("cuLaunchKernel", kernels.Pack(batch, gpu.stream()).code);
  if (gpu.Download(range.address(), bytes) != expected) return "packed wrong";
  gpu.Write(tensor.address(), Bytes(bytes));
  batch.to_tensors = 1;
  gpu.Check("cuLaunchKernel", kernels.Pack(batch, gpu.stream()).code);
  return gpu.Download(tensor.address(), bytes) == stored ? "" : "unpacked wrong";
}

}  // namespace

bool CheckPacking(const Gpu& gpu, const sdk::cuda::Kernels& kernels) {
  std::mt19937 random(1);
  std::string wrong;
  int launches = 0;
  for (uint32_t shift = 0; shift < 16; ++shift) {
    std::vector<uint32_t> sizes(1 + random() % sdk::cuda::kMaxPackItems);
    for (uint32_t& size : sizes) size = 1 + random() % (random() % 8 == 0 ? 40000 : 300);
    const std::string here = PackSizes(gpu, kernels, sizes, shift);
    launches += 2;
    if (wrong.empty() && !here.empty()) wrong = "shift " + std::to_string(shift) + ": " + here;
  }
  Row(wrong.empty() ? "pass" : "FAIL", "pack and unpack",
      wrong.empty() ? std::to_string(launches) + " launches of up to 254 tensors" : wrong);
  std::string strided;
  for (const uint32_t size : {1, 2, 4, 8}) {
    if (strided.empty()) strided = PackTransposed(gpu, kernels, size);
  }
  Row(strided.empty() ? "pass" : "FAIL", "pack and unpack, strided",
      strided.empty() ? "elements of 1, 2, 4 and 8 bytes" : strided);
  return wrong.empty() && strided.empty();
}

}  // namespace reigen::hardware
