// Goal: every element of every tensor gets to its place, whatever the tensors' number,
// sizes, addresses and strides are, and nothing else is touched.
#include "client/cuda/pack_kernel.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

namespace reigen::sdk::cuda {
namespace {

constexpr std::byte kUntouched{0xa5};

uint64_t AddressOf(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

template <typename Batch>
void Launch(const Batch& batch) {
  for (uint32_t block = 0; block < PackBlocks(batch); ++block) {
    for (uint32_t thread = 0; thread < kPackThreads; ++thread) PackThread(batch, block, thread);
  }
}

struct alignas(64) Line {
  std::byte bytes[64];
};

// Memory at a 64-byte boundary, as the GPU's scratch is.
class Range {
 public:
  explicit Range(size_t bytes) : lines_(bytes / sizeof(Line) + 1) {
    std::memset(lines_.data(), static_cast<int>(kUntouched), lines_.size() * sizeof(Line));
  }
  std::byte* data() { return lines_.front().bytes; }

 private:
  std::vector<Line> lines_;
};

// Tensors of the given sizes, each `shift` bytes off a 16-byte boundary, there and back.
void CheckRoundTrip(const std::vector<uint32_t>& sizes, uint32_t shift) {
  PackBatch batch = {};
  std::vector<Range> tensors;
  uint32_t packed = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    tensors.emplace_back(sizes[i] + 64);
    std::byte* const tensor = tensors.back().data() + shift;
    for (uint32_t n = 0; n < sizes[i]; ++n) tensor[n] = static_cast<std::byte>(n * 7 + i);
    batch.items[i] = {.tensor = AddressOf(tensor), .packed = packed, .bytes = sizes[i]};
    packed += (sizes[i] + 63) / 64 * 64;
  }
  Range range(packed);
  batch.range = AddressOf(range.data());
  batch.item_count = static_cast<uint32_t>(sizes.size());
  Launch(batch);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::byte* const at = range.data() + batch.items[i].packed;
    ASSERT_EQ(std::memcmp(at, tensors[i].data() + shift, sizes[i]), 0) << i << " shift " << shift;
    for (uint32_t n = sizes[i]; n % 64 != 0; ++n) ASSERT_EQ(at[n], kUntouched) << i;
    std::memset(tensors[i].data(), static_cast<int>(kUntouched), sizes[i] + 64);
  }
  batch.to_tensors = 1;
  Launch(batch);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::byte* const tensor = tensors[i].data();
    ASSERT_EQ(std::memcmp(range.data() + batch.items[i].packed, tensor + shift, sizes[i]), 0);
    for (uint32_t n = 0; n < shift; ++n) ASSERT_EQ(tensor[n], kUntouched);
    for (uint32_t n = shift + sizes[i]; n < sizes[i] + 64; ++n) ASSERT_EQ(tensor[n], kUntouched);
  }
}

TEST(PackKernelTest, TensorsOfAnySizeAndAlignmentGoThereAndBack) {
  for (uint32_t shift = 0; shift < 16; ++shift) {
    CheckRoundTrip({1, 2, 3, 4, 8, 15, 16, 17, 63, 64, 65, 1000}, shift);
    CheckRoundTrip({kPackTileBytes}, shift);
    CheckRoundTrip({kPackTileBytes - 1, 5, 3 * kPackTileBytes + 1, 8}, shift);
  }
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<uint32_t> sizes(1 + random() % kMaxPackItems);
    for (uint32_t& size : sizes) size = 1 + random() % (random() % 8 == 0 ? 40000 : 300);
    CheckRoundTrip(sizes, random() % 16);
  }
}

TEST(PackKernelTest, ALaunchMayBeginInTheMiddleOfTheRange) {
  Range tensor(64);
  Range range(4096);
  std::memset(tensor.data(), 1, 64);
  PackBatch batch = {.range = AddressOf(range.data()), .item_count = 1, .to_tensors = 0, .items = {}};
  batch.items[0] = {.tensor = AddressOf(tensor.data()), .packed = 2048, .bytes = 10};
  Launch(batch);
  for (uint32_t n = 0; n < 4096; ++n) {
    const bool inside = n >= 2048 && n < 2058;
    ASSERT_EQ(range.data()[n], inside ? std::byte{1} : kUntouched) << n;
  }
}

// Places in the range that begin and end anywhere: several of them in one slot.
TEST(PackKernelTest, PackedBytesMayLieAnywhereInTheRange) {
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    PackBatch batch = {};
    batch.to_tensors = round % 2;
    batch.item_count = 1 + random() % kMaxPackItems;
    uint32_t end = random() % 40;
    for (uint32_t i = 0; i < batch.item_count; ++i) {
      PackItem& item = batch.items[i];
      item.packed = end + (random() % 3 == 0 ? random() % 50 : 0);
      item.bytes = 1 + random() % (random() % 20 == 0 ? 3 * kPackTileBytes : 40);
      end = item.packed + item.bytes;
    }
    Range range(end + 64);
    Range tensors(end + 64);
    const uint32_t shift = random() % 16;  // 0: whole tiles are moved at once
    std::vector<std::byte> expected(end, kUntouched);
    std::byte* const from = batch.to_tensors != 0 ? range.data() : tensors.data() + shift;
    batch.range = AddressOf(range.data());
    for (uint32_t i = 0; i < batch.item_count; ++i) {
      PackItem& item = batch.items[i];
      item.tensor = AddressOf(tensors.data() + shift + item.packed);
      for (uint32_t n = item.packed; n < item.packed + item.bytes; ++n) {
        from[n] = expected[n] = static_cast<std::byte>(random());
      }
    }
    Launch(batch);
    const std::byte* const to = batch.to_tensors != 0 ? tensors.data() + shift : range.data();
    ASSERT_EQ(std::memcmp(to, expected.data(), end), 0) << round;
  }
}

// A 3 x 40 x 50 tensor stored as 50 x 3 x 40 with a gap of one, cut in two.
template <typename T>
void CheckStrided() {
  constexpr uint64_t kExtents[3] = {3, 40, 50};
  constexpr uint64_t kCount = 3 * 40 * 50;
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  constexpr int64_t kStrides[3] = {41 * kSize, kSize, 3 * 41 * kSize};
  std::vector<T> memory(50 * 3 * 41, T{99});
  std::vector<T> expected;
  for (uint64_t i = 0; i < 3; ++i) {
    for (uint64_t j = 0; j < 40; ++j) {
      for (uint64_t k = 0; k < 50; ++k) {
        const auto value = static_cast<T>(expected.size());
        expected.push_back(value);
        memory[k * 3 * 41 + i * 41 + j] = value;
      }
    }
  }
  Range range(kCount * sizeof(T) + 64);
  StridedBatch batch = {};
  batch.range = AddressOf(range.data());
  batch.item_count = 2;
  const uint32_t first_count = 1024;
  for (uint32_t part = 0; part < 2; ++part) {
    StridedItem& item = batch.items[part];
    item.tensor = AddressOf(memory.data());
    item.first = part * first_count;
    item.packed = static_cast<uint32_t>(item.first * sizeof(T));
    item.bytes = static_cast<uint32_t>((part == 0 ? first_count : kCount - first_count) * sizeof(T));
    item.element_bytes = sizeof(T);
    item.dims = 3;
    for (int d = 0; d < 3; ++d) {
      item.extents[d] = kExtents[d];
      item.strides[d] = kStrides[d];
    }
  }
  Launch(batch);
  ASSERT_EQ(std::memcmp(range.data(), expected.data(), kCount * sizeof(T)), 0);
  const std::vector<T> before = memory;
  for (T& value : memory) value = value == T{99} ? T{99} : T{1};
  batch.to_tensors = 1;
  Launch(batch);
  EXPECT_EQ(memory, before);
}

TEST(PackKernelTest, StridedElementsAreInTheirLogicalOrder) {
  CheckStrided<uint8_t>();
  CheckStrided<uint16_t>();
  CheckStrided<uint32_t>();
  CheckStrided<double>();
}

TEST(PackKernelTest, ReversedDimensionsAreWalkedBackwards) {
  const std::vector<int32_t> memory = {1, 2, 3, 4, 5};
  Range range(64);
  StridedBatch batch = {};
  batch.range = AddressOf(range.data());
  batch.item_count = 1;
  batch.items[0] = {.tensor = AddressOf(memory.data() + 4), .packed = 0, .bytes = 20, .first = 0,
                    .element_bytes = 4, .dims = 1, .extents = {5}, .strides = {-4}};
  Launch(batch);
  const std::vector<int32_t> reversed = {5, 4, 3, 2, 1};
  EXPECT_EQ(std::memcmp(range.data(), reversed.data(), 20), 0);
}

}  // namespace
}  // namespace reigen::sdk::cuda
