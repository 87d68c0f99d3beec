#include "client/c/slots.h"

#include <cstring>

namespace reigen::sdk {
namespace {

template <typename T>
void Append(const T& record, std::vector<local::Slot>* slots) {
  static_assert(sizeof(T) == sizeof(local::Slot));
  slots->emplace_back();
  std::memcpy(slots->back().bytes, &record, sizeof(record));
}

local::TensorSlot MakeTensorSlot(const RequestTensor& tensor, const Payload& payload,
                                 uint32_t name) {
  local::TensorSlot slot;
  slot.name = name;
  slot.dtype = static_cast<uint8_t>(tensor.dtype);
  slot.ndim = tensor.ndim;
  slot.arena = payload.arena;
  slot.offset = payload.offset;
  slot.count = tensor.count;
  for (size_t d = 0; d < tensor.shape.size(); ++d) slot.shape[d] = tensor.shape[d];
  if (payload.arena == local::kInlineArena && tensor.input != nullptr) {
    tensor.in.Gather(tensor.input, reinterpret_cast<std::byte*>(slot.inline_bytes));
  }
  return slot;
}

}  // namespace

std::vector<local::Slot> MakeSlots(Operation& operation) {
  const Request& request = operation.request();
  std::vector<local::Slot> slots;
  slots.reserve(1 + request.tensors.size());
  local::RequestSlot head;
  head.name = operation.name_ids().front();
  head.request = operation.id();
  head.collective = static_cast<uint8_t>(request.kind);
  head.op = static_cast<uint8_t>(request.op);
  head.device_kind = request.device_kind;
  head.tensor_count = static_cast<uint32_t>(request.tensors.size());
  head.root = request.root;
  head.prescale = request.prescale;
  head.postscale = request.postscale;
  Append(head, &slots);
  for (size_t i = 0; i < request.tensors.size(); ++i) {
    Append(MakeTensorSlot(request.tensors[i], operation.payloads()[i],
                          operation.name_ids()[request.TensorNameIndex(i)]),
           &slots);
  }
  return slots;
}

}  // namespace reigen::sdk
