// Slots of a submission queue with any content. Must hold: no crash, and a request that
// comes through points only into its arenas, with as many elements as its shape says.
#include <cstring>
#include <span>
#include <vector>

#include "proto/local/local.h"
#include "runtime/base/check.h"
#include "runtime/base/dtype.h"
#include "tests/fuzz/fuzz.h"
#include "worker/session/intake.h"

namespace reigen {
namespace {

alignas(64) std::byte g_arena[4096];

template <typename T>
void Append(std::string& out, const T& record) {
  out.append(reinterpret_cast<const char*>(&record), sizeof record);
}

void CheckRequest(const worker::IncomingRequest& incoming) {
  if (!incoming.status.ok()) return;
  const worker::RequestSpec& spec = *incoming.request.spec;
  REIGEN_CHECK(incoming.request.data.size() == spec.tensors.size());
  for (size_t i = 0; i < spec.tensors.size(); ++i) {
    const uint64_t bytes = spec.tensors[i].count * ElementBytes(spec.tensors[i].dtype);
    const std::byte* data = incoming.request.data[i];
    if (data == nullptr) {
      REIGEN_CHECK(bytes == 0 || (incoming.is_inline && bytes <= local::kInlineBytes));
      continue;
    }
    REIGEN_CHECK(data >= g_arena && bytes <= sizeof g_arena &&
                 data + bytes <= g_arena + sizeof g_arena);
  }
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::string seed;
  local::NameSlot name;
  name.name = 1;
  name.total_bytes = name.piece_bytes = 3;
  std::memcpy(name.bytes, "abc", 3);
  Append(seed, name);
  local::RequestSlot request;
  request.name = 1;
  request.op = static_cast<uint8_t>(ReduceOp::kSum);
  request.tensor_count = 2;
  Append(seed, request);
  local::TensorSlot tensor;
  tensor.name = 1;
  tensor.dtype = static_cast<uint8_t>(DataType::kFloat32);
  tensor.ndim = 1;
  tensor.count = tensor.shape[0] = 16;
  tensor.offset = 64;
  Append(seed, tensor);
  Append(seed, tensor);
  request.tensor_count = 1;
  Append(seed, request);
  tensor.arena = local::kInlineArena;
  tensor.count = tensor.shape[0] = 2;
  Append(seed, tensor);
  return {seed};
}

}  // namespace reigen

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reigen::worker::Intake intake;
  const std::vector<reigen::worker::ArenaView> arenas = {{reigen::g_arena, sizeof reigen::g_arena}};
  std::vector<reigen::worker::IncomingRequest> ready;
  for (size_t at = 0; at + sizeof(reigen::local::Slot) <= size; at += sizeof(reigen::local::Slot)) {
    reigen::local::Slot slot;
    std::memcpy(slot.bytes, data + at, sizeof slot);
    if (!intake.Feed(slot, arenas, ready).ok()) break;
  }
  for (const reigen::worker::IncomingRequest& incoming : ready) reigen::CheckRequest(incoming);
  return 0;
}
