#include "client/c/device_arenas.h"

#include <algorithm>
#include <array>
#include <utility>

#include "client/c/futex.h"
#include "proto/local/fixed_text.h"

namespace reigen::sdk {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// An allocation is never smaller: the driver's unit.
constexpr uint64_t kUnitBytes = 2 * kMiB;
constexpr uint64_t kFirstBytes = 64 * kMiB;
constexpr uint64_t kMostBytes = 1024 * kMiB;
constexpr uint64_t kShareOfGpu = 16;
// Without a block given back.
constexpr Duration kPatience = milliseconds(500);
// Where the job requires that they are in arenas: as long as a GPU has for a command.
constexpr Duration kLongPatience = seconds(300);
constexpr Duration kLeastPatience = milliseconds(5);

uint64_t RoundUp(uint64_t bytes) {
  if (bytes > UINT64_MAX - kUnitBytes) return bytes;
  return (bytes + kUnitBytes - 1) / kUnitBytes * kUnitBytes;
}

local::AddDeviceArena Describe(const cuda::Device& device, local::DeviceArenaKind kind,
                               uint64_t bytes) {
  const cuda::DeviceFacts& facts = device.facts();
  local::AddDeviceArena out;
  out.bytes = bytes;
  out.kind = kind;
  out.capability_major = facts.capability_major;
  out.writes_ordering = facts.writes_ordering;
  out.allows_rdma = facts.allows_rdma ? 1 : 0;
  local::PutText(facts.bus_id, out.bus_id);
  return out;
}

std::string InMiB(uint64_t bytes) { return std::to_string(bytes / kMiB) + " MiB"; }

std::string NameOf(const cuda::Device& device) {
  return "CUDA device " + std::to_string(device.ordinal());
}

}  // namespace

DeviceArenas::DeviceArenas(Session* session, CommandThread* commands, DeviceArenaOptions options)
    : session_(*session),
      commands_(*commands),
      options_(std::move(options)),
      most_patience_(session->Limit(
          session->place().requires_device_arenas != 0 ? kLongPatience : kPatience)),
      patience_(most_patience_) {}

void DeviceArenas::ReportOnce(const std::string& line) {
  if (reported_.insert(line).second) options_.report(line);
}

void DeviceArenas::GiveUp(const std::string& why) {
  given_up_ = true;
  local::DeviceUse no_use;
  local::PutText(why, no_use.why_not);
  static_cast<void>(session_.Send(no_use).ok());  // else the session has ended
  ReportOnce("CUDA tensors go through host memory: " + why);
}

bool DeviceArenas::MayUse(const std::shared_ptr<cuda::Device>& device) {
  if (given_up_ || !session_.takes_device_arenas()) return false;
  std::string why_not;
  if (!session_.UsesDeviceArenas(&why_not)) {
    ReportOnce("CUDA tensors go through host memory: " + why_not);
    return false;
  }
  if (device_ == nullptr) {
    Result begun = Begin(device);
    if (!begun.ok()) GiveUp(begun.text);
    return begun.ok();
  }
  if (device_ == device) return true;
  ReportOnce(NameOf(*device) + ": its tensors go through host memory: this process used device " +
             std::to_string(device_->ordinal()) + " first");
  return false;
}

Result DeviceArenas::Begin(const std::shared_ptr<cuda::Device>& device) {
  device_ = device;
  const std::string name = NameOf(*device);
  if (!device->has_kernels()) {
    return Fail(REIGEN_FAILED_PRECONDITION, name + " has no kernels");
  }
  const uint64_t share = device->facts().total_bytes / kShareOfGpu;
  limit_bytes_ = options_.limit_bytes.value_or(std::min(kMostBytes, share));
  limit_bytes_ -= limit_bytes_ % kUnitBytes;
  if (limit_bytes_ == 0) {
    return Fail(REIGEN_FAILED_PRECONDITION, "REIGEN_CUDA_ARENA_MB allows for no arena on a GPU");
  }
  REIGEN_SDK_RETURN_IF_ERROR(commands_.Start(device));
  REIGEN_SDK_RETURN_IF_ERROR(AddTensors(1));
  options_.report(name + ": tensors stay on the GPU, in up to " + InMiB(limit_bytes_) +
                  " of its memory (REIGEN_CUDA_ARENA_MB)");
  const uint64_t scratch_bytes = session_.place().device_scratch_bytes;
  if (scratch_bytes == 0) return Ok();
  Result scratch = AddScratch(scratch_bytes);
  if (!scratch.ok()) {
    ReportOnce(name + ": no scratch of " + InMiB(scratch_bytes) + " on the GPU: " + scratch.text);
  }
  return Ok();
}

std::optional<DeviceBlock> DeviceArenas::Allocate(const std::shared_ptr<cuda::Device>& device,
                                                  uint64_t bytes,
                                                  const std::function<RoomLook()>& look) {
  if (!MayUse(device)) return std::nullopt;
  if (auto block = Find(bytes)) return block;
  if (RoundUp(bytes + check_bytes()) <= limit_bytes_ - total_bytes_) {
    const Result grown = AddTensors(bytes);
    if (grown.ok()) return Find(bytes);
    limit_bytes_ = total_bytes_;  // asked once: there is no more
    ReportOnce(NameOf(*device) + ": no more of its memory for tensors than " +
               InMiB(total_bytes_) + ": " + grown.text);
  }
  if (!HasOneOf(bytes)) {
    if (!std::exchange(too_large_told_, true)) {
      ReportOnce(NameOf(*device) + ": a request of " + InMiB(bytes) + " is larger than an arena " +
                 "there can be, with " + InMiB(limit_bytes_) + " for all: such ones go through " +
                 "host memory (REIGEN_CUDA_ARENA_MB)");
    }
    return std::nullopt;
  }
  if (fruitless_at_ == freed_->load()) return std::nullopt;
  return WaitForRoom(device, bytes, look);
}

std::optional<DeviceBlock> DeviceArenas::Find(uint64_t bytes) {
  for (const auto& arena : arenas_) {
    if (auto block = arena->Allocate(bytes)) return block;
  }
  return std::nullopt;
}

bool DeviceArenas::HasOneOf(uint64_t bytes) const {
  return std::any_of(arenas_.begin(), arenas_.end(),
                     [bytes](const auto& arena) { return arena->block_bytes() >= bytes; });
}

// There will be room when what is in use has been given back.
std::optional<DeviceBlock> DeviceArenas::WaitForRoom(const std::shared_ptr<cuda::Device>& device,
                                                     uint64_t bytes,
                                                     const std::function<RoomLook()>& look) {
  const std::string full = NameOf(*device) + ": its arenas, of " + InMiB(limit_bytes_) +
                           " at most, are full: ";
  ReportOnce(full + "tensors wait for room (REIGEN_CUDA_ARENA_MB)");
  while (MayUse(device) && !session_.ended()) {
    const uint32_t seen = freed_->load();
    if (auto block = Find(bytes)) {
      patience_ = std::min(2 * patience_, most_patience_);
      return block;
    }
    if (AwaitFreed(seen, look)) continue;
    fruitless_at_ = seen;
    patience_ = std::max(patience_ / 2, kLeastPatience);
    ReportOnce(full + "some go through host memory, for nothing was given back for a while " +
               "(is another rank late, or do ranks enqueue in different orders?)");
    break;
  }
  return std::nullopt;
}

// False: for nothing. True: there may be room, or none is needed.
bool DeviceArenas::AwaitFreed(uint32_t seen, const std::function<RoomLook()>& look) const {
  std::optional<Time> begin;
  std::string why_not;
  while (freed_->load() == seen && !session_.ended() && session_.UsesDeviceArenas(&why_not)) {
    const RoomLook found = look();
    const Time now = Now();
    if (!begin && (found.wants || hurry_.load())) begin = now;
    const Time deadline = begin ? *begin + Patience() : Time::max();
    if (now >= deadline) return false;
    if (found.pause > Duration::zero()) {
      FutexWait(*freed_, seen, std::min(deadline, now + found.pause));
    }
  }
  return true;
}

Duration DeviceArenas::Patience() const {
  return hurry_.load() ? std::min(patience_, session_.Limit(kPatience)) : patience_;
}

Result DeviceArenas::Allocate(uint64_t least, uint64_t wanted,
                              std::unique_ptr<cuda::DeviceRange>* out) {
  *out = options_.store->Take(*device_, least, limit_bytes_ - total_bytes_);
  if (*out != nullptr) return Ok();
  Result allocated = device_->Allocate(wanted, out);
  if (!allocated.ok() && least < wanted) allocated = device_->Allocate(least, out);
  return allocated;
}

// Requires room for them under the limit.
Result DeviceArenas::AddTensors(uint64_t bytes) {
  const uint64_t least = RoundUp(bytes + check_bytes());
  // By as much as there is, so that few allocations do.
  const uint64_t wanted = std::min(
      limit_bytes_ - total_bytes_, std::max({least, total_bytes_, kFirstBytes}));
  std::unique_ptr<cuda::DeviceRange> range;
  REIGEN_SDK_RETURN_IF_ERROR(Allocate(least, wanted, &range));
  const uint64_t got = range->bytes();
  local::AddDeviceArena packet = Describe(*device_, local::DeviceArenaKind::kTensors, got);
  if (shares()) REIGEN_SDK_RETURN_IF_ERROR(Share(*range, &packet));
  const auto end = [store = options_.store, device = device_,
                    shared = shares()](std::unique_ptr<cuda::DeviceRange> ended) {
    if (shared) store->Keep(device, std::move(ended));
  };
  std::shared_ptr<DeviceArena> arena;
  REIGEN_SDK_RETURN_IF_ERROR(Add(packet, -1, std::move(range), got - check_bytes(), end, &arena));
  total_bytes_ += got;
  arenas_.push_back(std::move(arena));
  return Ok();
}

// Before anybody is told of it.
Result DeviceArenas::Share(const cuda::DeviceRange& range, local::AddDeviceArena* packet) {
  std::array<uint8_t, local::kIpcHandleBytes> handle{};
  REIGEN_SDK_RETURN_IF_ERROR(device_->ExportIpc(range, &handle));
  std::copy(handle.begin(), handle.end(), packet->ipc_handle);
  return WriteArenaCheck(*device_, range.address() + range.bytes() - kArenaCheckBytes, handle);
}

Result DeviceArenas::AddScratch(uint64_t bytes) {
  std::unique_ptr<cuda::DeviceRange> range;
  REIGEN_SDK_RETURN_IF_ERROR(device_->Allocate(bytes, &range));
  local::AddDeviceArena packet = Describe(*device_, local::DeviceArenaKind::kScratch, bytes);
  UniqueFd dmabuf;
  const Result exported = device_->ExportDmabuf(*range, &dmabuf);
  if (!exported.ok()) local::PutText(exported.text, packet.why_no_dmabuf);
  std::shared_ptr<DeviceArena> arena;
  // RDMA devices hold the dma-buf for as long as they need it.
  return Add(packet, dmabuf.get(), std::move(range), bytes,
             [](std::unique_ptr<cuda::DeviceRange>) {}, &arena);
}

Result DeviceArenas::Add(local::AddDeviceArena packet, int dmabuf,
                         std::unique_ptr<cuda::DeviceRange> range, uint64_t block_bytes,
                         DeviceArena::End end, std::shared_ptr<DeviceArena>* out) {
  uint32_t id = 0;
  Result added = session_.AddDeviceArena(packet, dmabuf, &id);
  if (!added.ok()) {
    // Unless the worker just refused it, it may have told others of it.
    if (session_.ended()) end(std::move(range));
    return added;
  }
  *out = std::make_shared<DeviceArena>(std::move(range), block_bytes, id, std::move(end), freed_);
  commands_.AddArena(*out);
  return Ok();
}

}  // namespace reigen::sdk
