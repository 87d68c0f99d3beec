// The fake worker's part in memory of GPUs, which it does not touch either.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "client/c/fake_worker.h"
#include "client/c/futex.h"
#include "runtime/base/check.h"

namespace reigen::sdk {

CommandWord::CommandWord(const local::ItemSize& size) {
  std::memcpy(bytes, &size, sizeof(bytes));
}

CommandWord::CommandWord(const local::MemoryPlace& place) {
  std::memcpy(bytes, &place, sizeof(bytes));
}

void FakeWorker::OnAddDeviceArena(const local::AddDeviceArena& packet, bool has_dmabuf) {
  if (!script_.refuse_device_arena.empty()) {
    return SendRefused(local::ResultCode::kResourceExhausted, script_.refuse_device_arena);
  }
  local::DeviceArenaAdded added;
  added.bytes = packet.bytes;
  added.arena = static_cast<uint32_t>(arenas_.size());
  arenas_.emplace_back();  // one series of ids
  device_arenas_.push_back({.packet = packet, .arena = added.arena, .has_dmabuf = has_dmabuf});
  if (script_.die_at_device_arena) return Die();
  SendWithFds(&added, sizeof(added), {});
}

std::vector<SeenDeviceArena> FakeWorker::device_arenas() {
  const std::lock_guard lock(mutex_);
  return device_arenas_;
}

bool FakeWorker::IsOnDevice(const local::TensorSlot& tensor) {
  const std::lock_guard lock(mutex_);
  return std::any_of(device_arenas_.begin(), device_arenas_.end(),
                     [&](const SeenDeviceArena& seen) { return seen.arena == tensor.arena; });
}

local::MemoryPlace FakeWorker::Place(const local::TensorSlot& tensor) {
  return {.arena = tensor.arena,
          .owner = static_cast<uint16_t>(script_.rank),
          .reserved = 0,
          .offset = tensor.offset};
}

uint64_t FakeWorker::Command(local::CommandSlot head, const std::vector<CommandWord>& words) {
  const std::lock_guard lock(mutex_);
  head.id = ++last_command_;
  constexpr size_t kWordsOfSlot = sizeof(local::Slot) / sizeof(CommandWord);
  std::vector<local::Slot> slots(1 + (words.size() + kWordsOfSlot - 1) / kWordsOfSlot);
  std::memcpy(slots[0].bytes, &head, sizeof(head));
  for (size_t i = 0; i < words.size(); ++i) {
    std::memcpy(slots[1 + i / kWordsOfSlot].bytes + i % kWordsOfSlot * sizeof(CommandWord),
                words[i].bytes, sizeof(CommandWord));
  }
  CommandSlots(slots);
  return head.id;
}

void FakeWorker::CommandSlots(const std::vector<local::Slot>& slots) {
  const std::lock_guard lock(mutex_);
  auto* const queue = reinterpret_cast<local::Slot*>(queues_.base + local::CommandOffset());
  uint32_t head = header_->command_head.load();
  for (const local::Slot& slot : slots) queue[head++ % local::kCommandSlots] = slot;
  header_->command_head.store(head);
  if (header_->trainer_sleeping.exchange(0) != 0) FutexWakeAll(header_->command_head);
}

uint64_t FakeWorker::Mirror(uint64_t request) {
  local::CommandSlot head;
  head.kind = local::CommandKind::kMirror;
  head.request = request;
  return Command(head, {});
}

void FakeWorker::OnDones() {
  auto* const slots = reinterpret_cast<local::Slot*>(queues_.base + local::DoneOffset());
  const uint32_t head = header_->done_head.load();
  uint32_t tail = header_->done_tail.load();
  while (tail != head) {
    local::DoneSlot done;
    std::memcpy(&done, slots[tail % local::kDoneSlots].bytes, sizeof(done));
    header_->done_tail.store(++tail);
    dones_.push_back(done);
    if (script_.on_done) script_.on_done(*this, done);
  }
}

template <typename T>
std::vector<T> FakeWorker::WaitFor(const std::vector<T>& list, size_t count) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (list.size() >= count) return list;
    }
    REIGEN_CHECK(std::chrono::steady_clock::now() < limit, "the answers did not come");
    std::this_thread::yield();
  }
}

std::vector<local::DoneSlot> FakeWorker::WaitForDone(size_t count) {
  return WaitFor(dones_, count);
}

std::vector<local::PeerArenaOpened> FakeWorker::WaitForOpened(size_t count) {
  return WaitFor(opened_, count);
}

std::vector<local::HostScratchMapped> FakeWorker::WaitForMapped(size_t count) {
  return WaitFor(mapped_, count);
}

std::vector<local::DeviceUse> FakeWorker::WaitForNoUse(size_t count) {
  return WaitFor(no_uses_, count);
}

void FakeWorker::SendPeerArena(const local::PeerArena& arena) {
  const std::lock_guard lock(mutex_);
  SendWithFds(&arena, sizeof(arena), {});
}

std::byte* FakeWorker::SendHostScratch(uint64_t announced_bytes, uint64_t file_bytes) {
  const std::lock_guard lock(mutex_);
  scratches_.push_back(MakeFile(file_bytes));
  local::HostScratch packet;
  packet.bytes = announced_bytes;
  SendWithFds(&packet, sizeof(packet), {scratches_.back().fd.get()});
  return scratches_.back().base;
}

void FakeWorker::SendDeviceUse(bool use, const std::string& why_not) {
  const std::lock_guard lock(mutex_);
  local::DeviceUse packet;
  packet.use = use ? 1 : 0;
  std::memcpy(packet.why_not, why_not.data(), why_not.size());
  SendWithFds(&packet, sizeof(packet), {});
}

}  // namespace reigen::sdk
