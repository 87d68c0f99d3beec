#include "runtime/collective/segment_work.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/collective/identity.h"

namespace reigen::collective {
namespace {

// The ranks' memory of the pieces, one piece after the other.
class RankMemory {
 public:
  RankMemory(const Bucket& bucket, uint64_t element_bytes)
      : bucket_(bucket), element_bytes_(element_bytes) {}

  void Select(const Piece& piece) {
    const BucketTensor& tensor = bucket_.tensors[piece.tensor];
    const uint64_t at = piece.first * element_bytes_;
    inputs_.clear();
    outputs_.clear();
    for (const std::byte* input : tensor.inputs) inputs_.push_back(input + at);
    for (std::byte* output : tensor.outputs) outputs_.push_back(output + at);
  }

  const std::vector<const std::byte*>& inputs() const { return inputs_; }
  std::vector<std::byte*>& outputs() { return outputs_; }

 private:
  const Bucket& bucket_;
  const uint64_t element_bytes_;
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
};

void CopyToOthers(const std::byte* from, const std::vector<std::byte*>& to, size_t bytes) {
  for (std::byte* output : to) {
    if (output != from) std::memcpy(output, from, bytes);
  }
}

uint64_t MostCopies(const Bucket& bucket) {
  size_t most = 0;
  for (const BucketTensor& t : bucket.tensors) most = std::max(most, t.inputs.size() + t.outputs.size());
  return most + 1;
}

}  // namespace

SegmentWork::SegmentWork(const Bucket& bucket, const Layout& layout)
    : bucket_(bucket),
      layout_(layout),
      spec_{bucket.dtype,    bucket.wire,      bucket.op,
            bucket.prescale, bucket.postscale, bucket.divisor},
      dtype_bytes_(ElementBytes(bucket.dtype)),
      wire_bytes_(ElementBytes(bucket.wire)),
      copies_(MostCopies(bucket)) {}

void SegmentWork::Do(const SegmentTask& task) const {
  using Kind = SegmentTask::Kind;
  switch (task.kind) {
    case Kind::kLoadSum:
      return LoadSum(task.id, task.out);
    case Kind::kLoadRoot:
      return Broadcast(task.id, task.out);
    case Kind::kAddLocal:
      return AddLocal(task.id, task.out);
    case Kind::kAddLocalFinal:
      return AddLocalFinal(task.id, task.in, task.out);
    case Kind::kCombine:
      return Combine(task.id, task.in, task.right, task.out);
    case Kind::kCombineDeliver:
      Combine(task.id, task.in, task.right, task.out);
      return DeliverWire(task.id, task.out);
    case Kind::kDeliverWire:
      return DeliverWire(task.id, task.in);
    case Kind::kDeliverFinal:
      return DeliverFinal(task.id, task.in);
    case Kind::kReduceInPlace:
      return ReduceInPlace(task.id);
    case Kind::kBroadcastInPlace:
      return Broadcast(task.id, nullptr);
  }
}

void SegmentWork::LoadSum(SegmentId id, std::byte* wire) const {
  RankMemory ranks(bucket_, dtype_bytes_);
  layout_.ForEachPiece(id.part, id.segment, [&](const Piece& piece) {
    ranks.Select(piece);
    std::byte* const out = wire + piece.offset * wire_bytes_;
    if (ranks.inputs().empty()) {
      FillIdentity(spec_.wire, spec_.op, out, piece.count);
    } else {
      reduce::ReducePartial(spec_, ranks.inputs(), nullptr, out, piece.count);
    }
  });
}

void SegmentWork::AddLocal(SegmentId id, std::byte* wire) const {
  RankMemory ranks(bucket_, dtype_bytes_);
  layout_.ForEachPiece(id.part, id.segment, [&](const Piece& piece) {
    ranks.Select(piece);
    if (ranks.inputs().empty()) return;
    std::byte* const partial = wire + piece.offset * wire_bytes_;
    reduce::ReducePartial(spec_, ranks.inputs(), partial, partial, piece.count);
  });
}

void SegmentWork::AddLocalFinal(SegmentId id, const std::byte* wire, std::byte* final) const {
  RankMemory ranks(bucket_, dtype_bytes_);
  layout_.ForEachPiece(id.part, id.segment, [&](const Piece& piece) {
    ranks.Select(piece);
    ranks.outputs().push_back(final + piece.offset * dtype_bytes_);
    const std::byte* const partial = wire + piece.offset * wire_bytes_;
    if (ranks.inputs().empty()) {
      reduce::FinishWire(spec_, partial, ranks.outputs(), piece.count);
    } else {
      reduce::ReduceFinal(spec_, ranks.inputs(), partial, ranks.outputs(), piece.count);
    }
  });
}

void SegmentWork::Combine(SegmentId id, const std::byte* left, const std::byte* right,
                          std::byte* out) const {
  reduce::CombineWire(spec_, left, right, out, layout_.SegmentElements(id.part, id.segment));
}

void SegmentWork::DeliverWire(SegmentId id, const std::byte* wire) const {
  RankMemory ranks(bucket_, dtype_bytes_);
  layout_.ForEachPiece(id.part, id.segment, [&](const Piece& piece) {
    ranks.Select(piece);
    if (ranks.outputs().empty()) return;
    reduce::FinishWire(spec_, wire + piece.offset * wire_bytes_, ranks.outputs(), piece.count);
  });
}

void SegmentWork::DeliverFinal(SegmentId id, const std::byte* final) const {
  RankMemory ranks(bucket_, dtype_bytes_);
  layout_.ForEachPiece(id.part, id.segment, [&](const Piece& piece) {
    ranks.Select(piece);
    CopyToOthers(final + piece.offset * dtype_bytes_, ranks.outputs(), piece.count * dtype_bytes_);
  });
}

void SegmentWork::ReduceInPlace(SegmentId id) const {
  RankMemory ranks(bucket_, dtype_bytes_);
  layout_.ForEachPiece(id.part, id.segment, [&](const Piece& piece) {
    ranks.Select(piece);
    if (ranks.inputs().empty() || ranks.outputs().empty()) return;
    reduce::ReduceFinal(spec_, ranks.inputs(), nullptr, ranks.outputs(), piece.count);
  });
}

void SegmentWork::Broadcast(SegmentId id, std::byte* final) const {
  RankMemory ranks(bucket_, dtype_bytes_);
  layout_.ForEachPiece(id.part, id.segment, [&](const Piece& piece) {
    ranks.Select(piece);
    if (final != nullptr) ranks.outputs().push_back(final + piece.offset * dtype_bytes_);
    CopyToOthers(ranks.inputs().front(), ranks.outputs(), piece.count * dtype_bytes_);
  });
}

uint64_t SegmentWork::Traffic(SegmentId id) const {
  return layout_.SegmentElements(id.part, id.segment) * dtype_bytes_ * copies_;
}

}  // namespace reigen::collective
