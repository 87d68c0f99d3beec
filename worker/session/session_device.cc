// The half of a session that is about its trainer's GPU.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

#include "worker/limits.h"
#include "worker/session/packets.h"
#include "worker/session/session.h"

namespace reigen::worker {
namespace {

// *result: Ok, or what the trainer says went wrong.
Status ReadResult(uint32_t code, std::span<const char> why_not, Status* result) {
  *result = OkStatus();
  if (code == static_cast<uint32_t>(local::ResultCode::kOk)) return OkStatus();
  if (code > static_cast<uint32_t>(local::ResultCode::kInternal)) {
    return InvalidArgument("a packet of unknown code " + std::to_string(code));
  }
  const std::string text = TextOf(why_not);
  *result = Unavailable(text.empty() ? "it does not say why" : text);
  return OkStatus();
}

// "0000:3b:00.0"; empty if it is none: it becomes part of a path.
std::string BusId(std::span<const char> field) {
  const std::string text = TextOf(field);
  const bool fits = std::count(text.begin(), text.end(), ':') == 2 &&
                    std::all_of(text.begin(), text.end(), [](unsigned char c) {
                      return std::isxdigit(c) || c == ':' || c == '.';
                    });
  return fits && text.find("..") == std::string::npos ? text : "";
}

}  // namespace

StatusOr<DeviceArena> Session::AddDeviceArena(const local::AddDeviceArena& packet,
                                              TrainerFd dmabuf) {
  const bool scratch = packet.kind == local::DeviceArenaKind::kScratch;
  if (!scratch && packet.kind != local::DeviceArenaKind::kTensors) {
    return InvalidArgument("a device arena of unknown kind");
  }
  // All sessions of the host are of this epoch then: their answers are about its arenas.
  if (!in_epoch_) return InvalidArgument("a device arena before the epoch");
  if (scratch && has_scratch_) return InvalidArgument("a second scratch");
  if (!scratch && dmabuf.valid()) return InvalidArgument("a dma-buf that is not of a scratch");
  if (growing_) return InvalidArgument("a device arena while another arena is made");
  const std::string what = "a device arena of " + std::to_string(packet.bytes) + " bytes";
  const bool fits = packet.bytes > 0 && packet.bytes <= limits::kMaxDeviceArenaBytes &&
                    device_bytes_ <= limits::kMaxDeviceArenaBytes - packet.bytes &&
                    device_ranges_.size() < limits::kMaxDeviceArenas &&
                    views_.size() < local::kMaxArenas;
  if (!fits) {
    return ResourceExhausted(what + ", beside " + std::to_string(device_ranges_.size()) +
                             " others of " + std::to_string(device_bytes_));
  }
  REIGEN_ASSIGN_OR_RETURN(AddressRange range, AddressRange::Reserve(packet.bytes));
  DeviceArena arena;
  arena.id = static_cast<uint32_t>(views_.size());
  arena.base = range.range().data();
  arena.bytes = packet.bytes;
  arena.kind = packet.kind;
  arena.capability_major = packet.capability_major;
  arena.writes_ordering = packet.writes_ordering;
  arena.allows_rdma = packet.allows_rdma != 0;
  arena.bus_id = BusId(packet.bus_id);
  std::copy_n(packet.ipc_handle, arena.ipc_handle.size(), arena.ipc_handle.begin());
  arena.dmabuf = std::move(dmabuf);
  if (scratch && !arena.dmabuf.valid()) {
    const std::string why = TextOf(packet.why_no_dmabuf);
    arena.why_no_dmabuf = why.empty() ? "the trainer has sent no dma-buf" : why;
  }
  local::DeviceArenaAdded added;
  added.bytes = packet.bytes;
  added.arena = arena.id;
  REIGEN_RETURN_IF_ERROR(SendPacket(socket_.get(), added));
  views_.push_back({arena.base, arena.bytes,
                    scratch ? ArenaView::Kind::kScratch : ArenaView::Kind::kDevice});
  device_ranges_.push_back(std::move(range));
  device_bytes_ += packet.bytes;
  has_scratch_ |= scratch;
  return arena;
}

Status Session::SendPeerArena(const local::PeerArena& arena) {
  to_open_.push_back(arena);
  return SendNextPeerArenas();
}

Status Session::SendNextPeerArenas() {
  while (!to_open_.empty() && opening_.size() < limits::kMaxPeerArenasOut) {
    const local::PeerArena arena = to_open_.front();
    to_open_.pop_front();
    opening_.emplace(arena.local_rank, arena.arena);
    REIGEN_RETURN_IF_ERROR(SendPacket(socket_.get(), arena));
  }
  return OkStatus();
}

Status Session::SendHostScratch(uint64_t bytes, int fd) {
  local::HostScratch scratch;
  scratch.bytes = bytes;
  mapping_ = true;
  const int fds[] = {fd};
  return SendPacket(socket_.get(), scratch, fds);
}

Status Session::TakeOpened(const local::PeerArenaOpened& packet, Status* result) {
  if (opening_.erase({packet.local_rank, packet.arena}) == 0) {
    return InvalidArgument("an answer about an arena that it was not asked to open");
  }
  return ReadResult(packet.code, packet.why_not, result);
}

Status Session::TakeMapped(const local::HostScratchMapped& packet, Status* result) {
  if (!std::exchange(mapping_, false)) {
    return InvalidArgument("an answer about a scratch that it was not asked to map");
  }
  return ReadResult(packet.code, packet.why_not, result);
}

Status Session::TakeNoUse(const local::DeviceUse& packet, std::string* why) const {
  // What was decided for the epoch before would be another's decision.
  if (!in_epoch_) return InvalidArgument("a use of its GPU before the epoch");
  if (packet.use != 0) return InvalidArgument("that its GPU is used, which is so until it says no");
  *why = TextOf(packet.why_not);
  return OkStatus();
}

std::byte* Session::HostMemory(uint32_t arena, uint64_t offset, uint64_t bytes) const {
  if (arena >= views_.size()) return nullptr;
  const ArenaView& view = views_[arena];
  const bool fits = view.kind == ArenaView::Kind::kHost &&
                    offset % local::kArenaAlignment == 0 && offset <= view.bytes &&
                    bytes <= view.bytes - offset;
  return fits ? view.base + offset : nullptr;
}

}  // namespace reigen::worker
