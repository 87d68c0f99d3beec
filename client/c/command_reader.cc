#include "client/c/command_reader.h"

#include <cstddef>
#include <cstring>
#include <string>

#include "runtime/base/dtype.h"
#include "runtime/reduce/supported.h"

namespace reigen::sdk {
namespace {

constexpr uint64_t kWordBytes = sizeof(local::MemoryPlace);
constexpr uint64_t kWordsOfSlot = sizeof(local::Slot) / kWordBytes;
static_assert(sizeof(local::ItemSize) == kWordBytes);
static_assert(local::kMaxCommandTensors == cuda::kMaxCommandAddresses);

uint64_t WordsOf(const local::CommandSlot& head) {
  return head.item_count *
         (uint64_t{1} + uint64_t{head.received} + uint64_t{head.inputs} + uint64_t{head.outputs});
}

// The words that follow the head, in their order.
class Words {
 public:
  explicit Words(std::span<const local::Slot> slots) : slots_(slots) {}

  template <typename Word>
  Word Next() {
    Word word;
    const std::byte* const slot = slots_[1 + next_ / kWordsOfSlot].bytes;
    std::memcpy(&word, slot + next_ % kWordsOfSlot * kWordBytes, kWordBytes);
    ++next_;
    return word;
  }

 private:
  const std::span<const local::Slot> slots_;
  uint64_t next_ = 0;
};

// How partial results of `dtype` may be stored.
bool IsPartOf(uint8_t type, DataType dtype) {
  if (!IsValidDataType(type)) return false;
  const auto known = static_cast<DataType>(type);
  return known == dtype || (IsHalf(dtype) && known == DataType::kFloat32);
}

Result CheckCounts(const local::CommandSlot& head) {
  if (head.item_count < 1 || head.item_count > local::kMaxCommandItems || head.received > 1 ||
      head.outputs < 1 || head.outputs > local::kMaxCommandTensors ||
      head.inputs > local::kMaxCommandTensors) {
    return Invalid("a command of " + std::to_string(head.item_count) + " items with " +
                   std::to_string(head.received) + " received, " + std::to_string(head.inputs) +
                   " inputs and " + std::to_string(head.outputs) + " outputs");
  }
  return Ok();
}

Result CheckHead(const local::CommandSlot& head) {
  REIGEN_SDK_RETURN_IF_ERROR(CheckCounts(head));
  if (!IsValidDataType(head.dtype)) {
    return Invalid("a command of dtype " + std::to_string(head.dtype));
  }
  const auto dtype = static_cast<DataType>(head.dtype);
  switch (head.kind) {
    case local::CommandKind::kCopy:
      if (head.inputs == 1 && head.received == 0) return Ok();
      return Invalid("a copy of several inputs");
    case local::CommandKind::kReduce: break;
    default:
      return Invalid("a command of kind " + std::to_string(static_cast<uint32_t>(head.kind)));
  }
  if (head.inputs + head.received == 0) return Invalid("a reduction of nothing");
  if (!IsPartOf(head.received_dtype, dtype) || !IsPartOf(head.out_dtype, dtype)) {
    return Invalid("a reduction of " + std::string(Name(dtype)) + " with dtypes " +
                   std::to_string(head.received_dtype) + " and " + std::to_string(head.out_dtype));
  }
  if (head.divisor == 0) return Invalid("a reduction divided by 0");
  const auto op = static_cast<ReduceOp>(head.op);
  if (!reduce::SupportedReduction(dtype, op, head.prescale, head.postscale)) {
    return Invalid(reduce::RefusalText(dtype, op));
  }
  return Ok();
}

void CopyHead(const local::CommandSlot& head, cuda::Command* out) {
  const bool reduces = head.kind == local::CommandKind::kReduce;
  out->kind = reduces ? cuda::CommandKind::kReduce : cuda::CommandKind::kCopy;
  out->dtype = static_cast<DataType>(head.dtype);
  out->received = reduces ? static_cast<DataType>(head.received_dtype) : out->dtype;
  out->out = reduces ? static_cast<DataType>(head.out_dtype) : out->dtype;
  if (reduces) {
    out->op = static_cast<ReduceOp>(head.op);
    out->prescale = head.prescale;
    out->postscale = head.postscale;
    out->divisor = head.divisor;
  }
  out->inputs = head.inputs;
  out->outputs = head.outputs;
  out->has_received = head.received != 0;
}

}  // namespace

local::CommandSlot HeadOf(const local::Slot& slot) {
  local::CommandSlot head;
  std::memcpy(&head, slot.bytes, sizeof(head));
  return head;
}

uint64_t SlotsOf(const local::CommandSlot& head) {
  return 1 + (WordsOf(head) + kWordsOfSlot - 1) / kWordsOfSlot;
}

Result ReadCommand(std::span<const local::Slot> slots, const MemoryMap& memory,
                   cuda::Command* out) {
  const local::CommandSlot head = HeadOf(slots[0]);
  REIGEN_SDK_RETURN_IF_ERROR(CheckHead(head));
  *out = cuda::Command();
  CopyHead(head, out);
  out->items.resize(head.item_count);
  Words words(slots);
  for (cuda::CommandItem& item : out->items) {
    item.count = words.Next<local::ItemSize>().count;
    uint16_t owner = 0;
    const auto resolve = [&](DataType dtype, cuda::CuAddress* address) {
      const auto place = words.Next<local::MemoryPlace>();
      owner = place.owner;
      return memory.Resolve(place, item.count, ElementBytes(dtype), address);
    };
    if (out->has_received) REIGEN_SDK_RETURN_IF_ERROR(resolve(out->received, &item.received));
    for (uint32_t k = 0; k < out->inputs; ++k) {
      REIGEN_SDK_RETURN_IF_ERROR(resolve(out->dtype, &item.inputs[k]));
      const bool is_copy = out->kind == cuda::CommandKind::kCopy;
      if (is_copy && owner == local::kHostScratchOwner) out->reads_host = true;
    }
    for (uint32_t k = 0; k < out->outputs; ++k) {
      REIGEN_SDK_RETURN_IF_ERROR(resolve(out->out, &item.outputs[k]));
    }
  }
  return Ok();
}

}  // namespace reigen::sdk
