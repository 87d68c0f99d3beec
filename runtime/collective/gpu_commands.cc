#include "runtime/collective/gpu_commands.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "runtime/base/check.h"

namespace reigen::collective {
namespace {

using Kind = SegmentTask::Kind;

// Gathers items of one kind into as few commands as may be.
class Gatherer {
 public:
  explicit Gatherer(GpuCommand like) : like_(std::move(like)) {}

  // Leaves out what has no output.
  void Add(GpuItem item) {
    if (item.outputs.empty() || item.count == 0) return;
    if (item.outputs.size() > Gpus::kMaxInputs) CopyTheRest(item);
    Append(commands_, like_, std::move(item));
  }

  std::vector<GpuCommand> Take() {
    std::move(copies_.begin(), copies_.end(), std::back_inserter(commands_));
    return std::move(commands_);
  }

 private:
  static bool SameShape(const GpuItem& a, const GpuItem& b) {
    return a.inputs.size() == b.inputs.size() && a.outputs.size() == b.outputs.size();
  }

  static void Append(std::vector<GpuCommand>& commands, const GpuCommand& like, GpuItem item) {
    if (commands.empty() || commands.back().items.size() == Gpus::kMaxItems ||
        !SameShape(commands.back().items.front(), item)) {
      commands.push_back(like);
    }
    commands.back().items.push_back(std::move(item));
  }

  void CopyTheRest(GpuItem& item) {
    GpuCommand like;
    like.kind = GpuCommand::Kind::kCopy;
    like.dtype = like.received = like.out = like_.out;
    for (size_t at = Gpus::kMaxInputs; at < item.outputs.size(); at += Gpus::kMaxInputs) {
      const auto first = item.outputs.begin() + static_cast<std::ptrdiff_t>(at);
      const size_t some = std::min(Gpus::kMaxInputs, item.outputs.size() - at);
      GpuItem copy{.count = item.count};
      copy.inputs = {item.outputs.front()};
      copy.outputs.assign(first, first + static_cast<std::ptrdiff_t>(some));
      Append(copies_, like, std::move(copy));
    }
    item.outputs.resize(Gpus::kMaxInputs);
  }

  const GpuCommand like_;  // without items
  std::vector<GpuCommand> commands_;
  std::vector<GpuCommand> copies_;
};

bool IsCopy(Kind kind) {
  return kind == Kind::kLoadRoot || kind == Kind::kBroadcastInPlace || kind == Kind::kDeliverFinal;
}

// Whether the outcome is a final value, not a partial sum.
bool Finishes(Kind kind) {
  return kind == Kind::kAddLocalFinal || kind == Kind::kDeliverWire || kind == Kind::kReduceInPlace;
}

GpuCommand Like(const Bucket& bucket, Kind kind) {
  GpuCommand like;
  if (IsCopy(kind)) {
    like.kind = GpuCommand::Kind::kCopy;
    like.dtype = like.received = like.out = bucket.dtype;
    return like;
  }
  like.dtype = kind == Kind::kCombine ? bucket.wire : bucket.dtype;
  like.received = bucket.wire;
  like.out = Finishes(kind) ? bucket.dtype : bucket.wire;
  like.op = bucket.op;
  if (kind != Kind::kCombine) like.prescale = bucket.prescale;
  if (Finishes(kind)) {
    like.postscale = bucket.postscale;
    like.divisor = bucket.divisor;
  }
  return like;
}

template <typename T>
std::vector<T*> From(const std::vector<T*>& memory, uint64_t bytes) {
  std::vector<T*> from;
  from.reserve(memory.size() + 1);
  for (T* begin : memory) from.push_back(begin + bytes);
  return from;
}

// What a piece contributes; `in` and `out` are of the piece. Empty inputs where a partial sum
// passes a host without contributors mean that there is nothing to do or only to finish.
GpuItem ItemOf(const BucketTensor& tensor, const Piece& piece, uint64_t dtype_bytes, Kind kind,
               const std::byte* in, std::byte* out) {
  const uint64_t at = piece.first * dtype_bytes;
  GpuItem item{.count = piece.count};
  if (kind == Kind::kDeliverFinal) {
    item.inputs = {in};
  } else if (kind != Kind::kDeliverWire) {
    item.inputs = From(tensor.inputs, at);
  }
  if (!IsCopy(kind)) item.received = kind == Kind::kAddLocal ? out : in;
  if (kind != Kind::kLoadSum && kind != Kind::kAddLocal) {
    for (std::byte* const output : tensor.outputs) {
      if (!IsCopy(kind) || output + at != item.inputs.front()) item.outputs.push_back(output + at);
    }
  }
  if (out != nullptr) item.outputs.push_back(out);
  return item;
}

}  // namespace

std::vector<GpuCommand> GpuCommands::Of(const SegmentTask& task) const {
  if (task.kind == Kind::kCombineDeliver) {
    std::vector<GpuCommand> commands = Of({Kind::kCombine, task.id, task.in, task.right, task.out});
    std::ranges::move(Of({.kind = Kind::kDeliverWire, .id = task.id, .in = task.out}),
                      std::back_inserter(commands));
    return commands;
  }
  const GpuCommand like = Like(bucket_, task.kind);
  Gatherer gatherer(like);
  if (task.kind == Kind::kCombine) {
    GpuItem whole{.count = layout_.SegmentElements(task.id.part, task.id.segment)};
    whole.received = task.in;
    whole.inputs = {task.right};
    whole.outputs = {task.out};
    gatherer.Add(std::move(whole));
    return gatherer.Take();
  }
  const uint64_t in_bytes = ElementBytes(IsCopy(task.kind) ? bucket_.dtype : bucket_.wire);
  const uint64_t out_bytes = ElementBytes(like.out);
  layout_.ForEachPiece(task.id.part, task.id.segment, [&](const Piece& piece) {
    GpuItem item = ItemOf(bucket_.tensors[piece.tensor], piece, ElementBytes(bucket_.dtype), task.kind,
                          task.in == nullptr ? nullptr : task.in + piece.offset * in_bytes,
                          task.out == nullptr ? nullptr : task.out + piece.offset * out_bytes);
    const bool alone = item.inputs.empty() && (item.received == nullptr || !Finishes(task.kind));
    if (!alone) gatherer.Add(std::move(item));
  });
  return gatherer.Take();
}

}  // namespace reigen::collective
