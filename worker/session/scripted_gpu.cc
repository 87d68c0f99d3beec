#include "worker/session/scripted_gpu.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/base/dtype.h"
#include "runtime/reduce/kernels.h"

namespace reigen::worker {
namespace {

std::span<std::byte> Map(int fd, uint64_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return {};
  return {static_cast<std::byte*>(at), bytes};
}

template <typename T>
T Read(const std::byte* from) {
  T out;
  std::memcpy(static_cast<void*>(&out), from, sizeof out);
  return out;
}

}  // namespace

ScriptedGpu::ScriptedGpu(ScriptedTrainer* trainer, Behaviour behaviour)
    : trainer_(*trainer), behaviour_(std::move(behaviour)) {
  trainer_.set_on_packet([this](local::PacketKind kind, std::vector<UniqueFd>& fds) {
    return OnPacket(kind, fds);
  });
}

ScriptedGpu::~ScriptedGpu() {
  trainer_.set_on_packet(nullptr);
  for (const auto& [id, memory] : own_) munmap(memory.data(), memory.size());
  for (const auto& [key, memory] : peers_) munmap(memory.data(), memory.size());
  if (!scratch_.empty()) munmap(scratch_.data(), scratch_.size());
}

std::optional<uint32_t> ScriptedGpu::AddArena(uint64_t bytes, local::DeviceArenaKind kind) {
  UniqueFd fd(memfd_create("scripted-gpu", MFD_CLOEXEC));
  REIGEN_CHECK(ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0);
  local::AddDeviceArena packet;
  packet.bytes = bytes;
  packet.kind = kind;
  packet.capability_major = 9;
  packet.allows_rdma = 1;
  std::snprintf(packet.bus_id, sizeof packet.bus_id, "0000:ff:1f.7");
  std::snprintf(reinterpret_cast<char*>(packet.ipc_handle), sizeof packet.ipc_handle,
                "/proc/%d/fd/%d", getpid(), fd.get());
  const bool scratch = kind == local::DeviceArenaKind::kScratch;
  if (scratch) {
    std::snprintf(packet.why_no_dmabuf, sizeof packet.why_no_dmabuf, "%s",
                  behaviour_.why_no_dmabuf.c_str());
  }
  if (scratch && behaviour_.why_no_dmabuf.empty()) {
    const int fds[] = {fd.get()};
    trainer_.SendWithFds(&packet, sizeof packet, fds);
  } else {
    trainer_.Send(packet);
  }
  if (trainer_.Receive() != local::PacketKind::kDeviceArenaAdded) return std::nullopt;
  const uint32_t id = trainer_.packet<local::DeviceArenaAdded>().arena;
  own_[id] = Map(fd.get(), bytes);
  fds_.push_back(std::move(fd));
  return id;
}

uint64_t ScriptedGpu::Allreduce(uint32_t name, uint32_t arena, uint64_t count) {
  local::TensorSlot tensor;
  tensor.dtype = static_cast<uint8_t>(DataType::kFloat32);
  tensor.count = count;
  tensor.arena = arena;
  const uint64_t request = trainer_.Allreduce(name, ReduceOp::kSum, local::kCudaDevice, tensor);
  payloads_[request] = {arena, count * sizeof(float)};
  return request;
}

const float* ScriptedGpu::Result(uint64_t request) {
  const auto mirror = mirrors_.find(request);
  const std::byte* const at = mirror != mirrors_.end() ? trainer_.arena() + mirror->second
                                                       : memory(payloads_.at(request).arena);
  return reinterpret_cast<const float*>(at);
}

// --- packets -------------------------------------------------------------------------

bool ScriptedGpu::OnPacket(local::PacketKind kind, std::vector<UniqueFd>& fds) {
  switch (kind) {
    case local::PacketKind::kPeerArena:
      OpenPeer(trainer_.packet<local::PeerArena>());
      return true;
    case local::PacketKind::kHostScratch:
      REIGEN_CHECK(fds.size() == 1);
      MapScratch(trainer_.packet<local::HostScratch>(), fds[0]);
      return true;
    case local::PacketKind::kDeviceUse:
      not_used_ = trainer_.packet<local::DeviceUse>().why_not;
      return true;
    default:
      return false;
  }
}

void ScriptedGpu::OpenPeer(const local::PeerArena& packet) {
  local::PeerArenaOpened answer;
  answer.local_rank = packet.local_rank;
  answer.arena = packet.arena;
  if (behaviour_.opens_peers) {
    const UniqueFd fd(open(reinterpret_cast<const char*>(packet.ipc_handle), O_RDWR | O_CLOEXEC));
    const auto memory = fd.valid() ? Map(fd.get(), packet.bytes) : std::span<std::byte>();
    REIGEN_CHECK(!memory.empty());
    peers_[{packet.local_rank, packet.arena}] = memory;
  } else {
    answer.code = static_cast<uint32_t>(local::ResultCode::kUnavailable);
    std::snprintf(answer.why_not, sizeof answer.why_not, "no peer\naccess");
  }
  trainer_.Send(answer);
}

void ScriptedGpu::MapScratch(const local::HostScratch& packet, const UniqueFd& fd) {
  local::HostScratchMapped answer;
  if (behaviour_.maps_scratch) {
    scratch_ = Map(fd.get(), packet.bytes);
  } else {
    answer.code = static_cast<uint32_t>(local::ResultCode::kResourceExhausted);
    std::snprintf(answer.why_not, sizeof answer.why_not, "not page-locked");
  }
  trainer_.Send(answer);
}

// --- commands --------------------------------------------------------------------------

void ScriptedGpu::Serve() {
  if (!trainer_.attached()) return;
  trainer_.TakePackets();
  while (!stopped_ && DoNext()) continue;
}

bool ScriptedGpu::DoNext() {
  local::QueueHeader& header = trainer_.header();
  uint32_t tail = header.command_tail.load();
  if (tail == header.command_head.load()) return false;
  const auto* queue =
      reinterpret_cast<const local::Slot*>(trainer_.queues() + local::CommandOffset());
  const auto slot = Read<local::CommandSlot>(queue[tail++ % local::kCommandSlots].bytes);
  if (behaviour_.on_command && !behaviour_.on_command()) {
    stopped_ = true;
    return false;
  }
  const size_t words_per_item = 1u + slot.received + slot.inputs + slot.outputs;
  std::vector<local::MemoryPlace> words(slot.item_count * words_per_item);
  constexpr size_t kPerSlot = sizeof(local::Slot) / sizeof(local::MemoryPlace);
  for (size_t i = 0; i < words.size(); i += kPerSlot) {
    std::memcpy(static_cast<void*>(&words[i]), queue[tail++ % local::kCommandSlots].bytes,
                std::min(kPerSlot, words.size() - i) * sizeof words[i]);
  }
  header.command_tail.store(tail);
  local::DoneSlot done;
  done.id = slot.id + behaviour_.id_error;
  if (slot.kind == local::CommandKind::kMirror) {
    Mirror(slot.request, done);
  } else {
    ++commands_;
    for (size_t i = 0; i < slot.item_count; ++i) {
      Execute(slot, std::span(words).subspan(i * words_per_item, words_per_item));
    }
  }
  Answer(done);
  return true;
}

std::byte* ScriptedGpu::At(const local::MemoryPlace& place) {
  if (place.owner == local::kHostScratchOwner) return scratch_.data() + place.offset;
  const auto own = own_.find(place.arena);
  const auto peer = peers_.find({place.owner, place.arena});
  const bool mine = peer == peers_.end();
  REIGEN_CHECK(!mine || own != own_.end(), "a place that was never told");
  return (mine ? own->second : peer->second).data() + place.offset;
}

void ScriptedGpu::Execute(const local::CommandSlot& slot,
                          std::span<const local::MemoryPlace> words) {
  const auto count = Read<local::ItemSize>(reinterpret_cast<const std::byte*>(&words[0])).count;
  size_t next = 1;
  const std::byte* const received = slot.received != 0 ? At(words[next++]) : nullptr;
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  for (int i = 0; i < slot.inputs; ++i) inputs.push_back(At(words[next++]));
  for (int i = 0; i < slot.outputs; ++i) outputs.push_back(At(words[next++]));
  const auto dtype = static_cast<DataType>(slot.dtype);
  if (slot.kind == local::CommandKind::kCopy) {
    for (std::byte* out : outputs) std::memmove(out, inputs[0], count * ElementBytes(dtype));
    return;
  }
  const reduce::ReduceSpec spec{dtype, static_cast<DataType>(slot.received_dtype),
                                static_cast<ReduceOp>(slot.op), slot.prescale, slot.postscale,
                                slot.divisor};
  if (slot.out_dtype == slot.dtype) {
    reduce::ReduceFinal(spec, inputs, received, outputs, count);
  } else {
    reduce::ReducePartial(spec, inputs, received, outputs[0], count);
  }
}

void ScriptedGpu::Mirror(uint64_t request, local::DoneSlot& done) {
  const Payload payload = payloads_.at(request);
  std::memcpy(trainer_.arena() + mirror_end_, memory(payload.arena), payload.bytes);
  done.offset = mirrors_[request] = mirror_end_;
  mirror_end_ += (payload.bytes + local::kArenaAlignment - 1) / local::kArenaAlignment *
                 local::kArenaAlignment;
}

void ScriptedGpu::Answer(const local::DoneSlot& done) {
  local::QueueHeader& header = trainer_.header();
  const uint32_t head = header.done_head.load();
  std::memcpy(trainer_.queues() + local::DoneOffset() +
                  head % local::kDoneSlots * sizeof(local::Slot),
              &done, sizeof done);
  header.done_head.store(head + 1);
  trainer_.WakeWorker();
}

}  // namespace reigen::worker
