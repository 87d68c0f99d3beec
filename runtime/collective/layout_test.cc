#include "runtime/collective/layout.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <vector>

namespace reigen::collective {
namespace {

std::vector<BucketTensor> Tensors(std::initializer_list<std::pair<uint64_t, uint64_t>> list) {
  std::vector<BucketTensor> tensors;
  for (const auto& [count, hash] : list) {
    tensors.push_back({.count = count, .name_hash = hash, .inputs = {}, .outputs = {}});
  }
  return tensors;
}

TEST(LayoutTest, ChunkBoundsDoNotOverflow) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(ChunkBegin(kMost, 64, 64), kMost);
  EXPECT_EQ(ChunkBegin(kMost, 32, 64), kMost / 2);
  EXPECT_EQ(ChunkBegin(10, 1, 3), 3u);
  EXPECT_EQ(ChunkBegin(10, 2, 3), 6u);
}

TEST(LayoutTest, ChunksAreTurnedByTheHashOfTheName) {
  const auto tensors = Tensors({{9, 0}, {9, 1}});
  const Layout layout(tensors, 3, 100);
  std::vector<uint64_t> firsts;
  layout.ForEachPiece(0, 0, [&](const Piece& piece) { firsts.push_back(piece.first); });
  EXPECT_EQ(firsts, (std::vector<uint64_t>{0, 6}));  // chunk 0 of one, chunk 2 of the other
}

TEST(LayoutTest, TensorsSmallerThanTheHostsLeavePartsEmpty) {
  const auto tensors = Tensors({{1, 0}});
  const Layout layout(tensors, 4, 8);
  uint64_t elements = 0;
  int empty = 0;
  for (uint32_t q = 0; q < 4; ++q) {
    elements += layout.PartElements(q);
    if (layout.Segments(q) == 0) ++empty;
  }
  EXPECT_EQ(elements, 1u);
  EXPECT_EQ(empty, 3);
}

TEST(LayoutTest, EveryElementIsInExactlyOneSegment) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<BucketTensor> tensors(random() % 6);
    for (BucketTensor& t : tensors) {
      t.count = random() % 40;
      t.name_hash = random();
    }
    const int parts = static_cast<int>(random() % 9 + 1);
    const Layout layout(tensors, parts, random() % 7 + 1);
    std::map<std::pair<size_t, uint64_t>, int> seen;
    for (uint32_t q = 0; q < static_cast<uint32_t>(parts); ++q) {
      for (uint64_t s = 0; s < layout.MaxSegments() + 1; ++s) {
        uint64_t next = 0;
        layout.ForEachPiece(q, s, [&](const Piece& piece) {
          EXPECT_EQ(piece.offset, next);
          EXPECT_GT(piece.count, 0u);
          next += piece.count;
          for (uint64_t i = 0; i < piece.count; ++i) ++seen[{piece.tensor, piece.first + i}];
        });
        EXPECT_EQ(next, layout.SegmentElements(q, s));
        EXPECT_EQ(next > 0, s < layout.Segments(q));
      }
    }
    size_t all = 0;
    for (const BucketTensor& t : tensors) all += t.count;
    ASSERT_EQ(seen.size(), all);
    for (const auto& [element, times] : seen) ASSERT_EQ(times, 1);
  }
}

}  // namespace
}  // namespace reigen::collective
