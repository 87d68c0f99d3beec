#include "worker/session/intake.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "runtime/reduce/supported.h"

namespace reigen::worker {
namespace {

// Product of the dimensions; false when it does not fit 64 bits.
bool CountOf(const std::vector<uint64_t>& shape, uint64_t& count) {
  count = 1;
  for (uint64_t dim : shape) {
    if (__builtin_mul_overflow(count, dim, &count)) return false;
  }
  return true;
}

Status CheckHead(const local::RequestSlot& slot) {
  if (slot.collective > static_cast<uint8_t>(CollectiveKind::kBarrier)) {
    return InvalidArgument("unknown operation " + std::to_string(slot.collective));
  }
  if (!IsValidReduceOp(slot.op)) {
    return InvalidArgument("unknown reduction " + std::to_string(slot.op));
  }
  if (slot.device_kind > local::kCudaDevice) {
    return InvalidArgument("unknown kind of device " + std::to_string(slot.device_kind));
  }
  if (slot.flags != 0) return InvalidArgument("unknown flags " + std::to_string(slot.flags));
  const bool barrier = slot.collective == static_cast<uint8_t>(CollectiveKind::kBarrier);
  if (barrier != (slot.tensor_count == 0)) {
    return InvalidArgument(std::to_string(slot.tensor_count) +
                           (barrier ? " tensors in a barrier" : " tensors"));
  }
  if (!std::isfinite(slot.prescale) || !std::isfinite(slot.postscale)) {
    return InvalidArgument("a scale that is not finite");
  }
  return OkStatus();
}

}  // namespace

Status Intake::Feed(const local::Slot& slot, std::span<const ArenaView> arenas,
                    std::vector<IncomingRequest>& ready) {
  local::SlotKind kind;
  std::memcpy(&kind, slot.bytes, sizeof kind);
  if (partial_total_ > 0 && kind != local::SlotKind::kName) {
    return InvalidArgument("a name without its end");
  }
  if (tensors_left_ > 0 && kind != local::SlotKind::kTensor) {
    return InvalidArgument("a request without all its tensors");
  }
  switch (kind) {
    case local::SlotKind::kName: {
      local::NameSlot name;
      std::memcpy(static_cast<void*>(&name), slot.bytes, sizeof name);
      return FeedName(name);
    }
    case local::SlotKind::kRequest: {
      local::RequestSlot request;
      std::memcpy(static_cast<void*>(&request), slot.bytes, sizeof request);
      return FeedRequest(request, ready);
    }
    case local::SlotKind::kTensor: {
      local::TensorSlot tensor;
      std::memcpy(static_cast<void*>(&tensor), slot.bytes, sizeof tensor);
      return FeedTensor(tensor, arenas, ready);
    }
  }
  return InvalidArgument("an unknown kind of record, " +
                         std::to_string(static_cast<uint32_t>(kind)));
}

Status Intake::FeedName(const local::NameSlot& slot) {
  if (slot.name >= local::kMaxNames) return InvalidArgument("a name's id is out of range");
  if (slot.total_bytes == 0 || slot.total_bytes > local::kMaxNameBytes) {
    return InvalidArgument("a name of " + std::to_string(slot.total_bytes) + " bytes");
  }
  if (partial_total_ == 0) {
    partial_name_.clear();
    partial_id_ = slot.name;
  } else if (slot.name != partial_id_ || slot.total_bytes != partial_total_) {
    return InvalidArgument("pieces of two names are mixed");
  }
  partial_total_ = slot.total_bytes;
  if (slot.offset != partial_name_.size() || slot.piece_bytes == 0 ||
      slot.piece_bytes > sizeof(slot.bytes) ||
      slot.piece_bytes > slot.total_bytes - slot.offset) {
    return InvalidArgument("a piece of a name is out of place");
  }
  partial_name_.append(slot.bytes, slot.piece_bytes);
  if (partial_name_.size() == partial_total_) {
    partial_total_ = 0;
    names_[partial_id_] =
        IsUtf8(partial_name_) ? std::make_shared<const std::string>(partial_name_) : nullptr;
  }
  return OkStatus();
}

Intake::NamePtr Intake::FindName(uint32_t id) const {
  const auto it = names_.find(id);
  return it == names_.end() ? nullptr : it->second;
}

Status Intake::FeedRequest(const local::RequestSlot& slot, std::vector<IncomingRequest>& ready) {
  if (slot.tensor_count > local::kMaxGroupTensors) {
    return InvalidArgument("a group of " + std::to_string(slot.tensor_count) + " tensors");
  }
  incoming_ = IncomingRequest();
  spec_ = std::make_shared<RequestSpec>();
  incoming_.request.id = slot.request;
  incoming_.request.process_set = slot.process_set;
  tensors_left_ = slot.tensor_count;
  const NamePtr name = FindName(slot.name);
  if (name == nullptr) {
    incoming_.status = InvalidArgument("the request's name is not defined, or is not UTF-8");
  } else {
    incoming_.request.name = *name;
    incoming_.status = Annotate(CheckHead(slot), *name);
  }
  if (incoming_.status.ok()) {
    spec_->kind = static_cast<CollectiveKind>(slot.collective);
    spec_->op = static_cast<ReduceOp>(slot.op);
    spec_->root = slot.root;
    spec_->prescale = slot.prescale;
    spec_->postscale = slot.postscale;
    spec_->device_kind = slot.device_kind;
    spec_->tensors.reserve(slot.tensor_count);
    incoming_.request.data.reserve(slot.tensor_count);
  }
  if (tensors_left_ == 0) Finish(ready);
  return OkStatus();
}

Status Intake::FeedTensor(const local::TensorSlot& slot, std::span<const ArenaView> arenas,
                          std::vector<IncomingRequest>& ready) {
  if (tensors_left_ == 0) return InvalidArgument("a tensor without a request");
  if (incoming_.status.ok()) {
    incoming_.status = Annotate(CheckTensor(slot, arenas), incoming_.request.name);
  }
  if (--tensors_left_ == 0) Finish(ready);
  return OkStatus();
}

Status Intake::CheckTensor(const local::TensorSlot& slot, std::span<const ArenaView> arenas) {
  const NamePtr name = FindName(slot.name);
  if (name == nullptr) return InvalidArgument("a tensor's name is not defined, or is not UTF-8");
  TensorSpec tensor;
  tensor.name = *name;
  if (!IsValidDataType(slot.dtype)) {
    return InvalidArgument("unknown dtype " + std::to_string(slot.dtype));
  }
  tensor.dtype = static_cast<DataType>(slot.dtype);
  if (slot.ndim > local::kMaxDims) {
    return InvalidArgument(std::to_string(slot.ndim) + " dimensions");
  }
  tensor.shape.assign(slot.shape, slot.shape + slot.ndim);
  if (!CountOf(tensor.shape, tensor.count) || tensor.count != slot.count) {
    return InvalidArgument("the count of elements does not fit the shape");
  }
  if (spec_->kind == CollectiveKind::kAllreduce &&
      !reduce::SupportedReduction(tensor.dtype, spec_->op, spec_->prescale, spec_->postscale)) {
    return InvalidArgument(reduce::RefusalText(tensor.dtype, spec_->op));
  }
  REIGEN_RETURN_IF_ERROR(CheckMemory(slot, tensor, arenas));
  spec_->tensors.push_back(std::move(tensor));
  return OkStatus();
}

Status Intake::CheckMemory(const local::TensorSlot& slot, const TensorSpec& tensor,
                           std::span<const ArenaView> arenas) {
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(tensor.count, ElementBytes(tensor.dtype), &bytes)) {
    return InvalidArgument("more bytes than 64 bits count");
  }
  if (bytes == 0) {
    incoming_.request.data.push_back(nullptr);
    return OkStatus();
  }
  if (slot.arena == local::kInlineArena) {
    if (bytes > local::kInlineBytes || !spec_->tensors.empty() || tensors_left_ != 1) {
      return InvalidArgument("an inline payload that is too large, or of a group");
    }
    incoming_.is_inline = true;
    incoming_.inline_count = static_cast<uint32_t>(bytes);
    std::memcpy(incoming_.inline_bytes.data(), slot.inline_bytes, bytes);
    incoming_.request.data.push_back(nullptr);
    return OkStatus();
  }
  if (slot.arena >= arenas.size()) {
    return InvalidArgument("there is no arena " + std::to_string(slot.arena));
  }
  const ArenaView& arena = arenas[slot.arena];
  // Nothing here may touch a GPU's memory, as is done with a host tensor's.
  if (arena.kind == ArenaView::Kind::kScratch ||
      (arena.kind == ArenaView::Kind::kDevice && spec_->device_kind != local::kCudaDevice)) {
    return InvalidArgument("arena " + std::to_string(slot.arena) + " is not for such a tensor");
  }
  if (slot.offset % local::kArenaAlignment != 0 || slot.offset > arena.bytes ||
      bytes > arena.bytes - slot.offset) {
    return InvalidArgument("memory outside of arena " + std::to_string(slot.arena));
  }
  incoming_.request.data.push_back(arena.base + slot.offset);
  return OkStatus();
}

void Intake::Finish(std::vector<IncomingRequest>& ready) {
  incoming_.request.spec = std::move(spec_);
  ready.push_back(std::exchange(incoming_, IncomingRequest()));
}

}  // namespace reigen::worker
