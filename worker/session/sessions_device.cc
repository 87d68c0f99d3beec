// The half of Sessions that is about the trainers' GPUs.
#include <utility>

#include "proto/local/fixed_text.h"
#include "worker/session/sessions.h"

namespace reigen::worker {

void Sessions::HandleDevice(Session& session, TrainerPacket& packet) {
  const int local = session.local();
  if (devices_ == nullptr) return Break(local, "speaks of a GPU, which is not taken here");
  Status result;
  if (packet.kind == local::PacketKind::kAddDeviceArena) {
    AddDeviceArena(session, packet);
  } else if (packet.kind == local::PacketKind::kPeerArenaOpened) {
    const local::PeerArenaOpened& opened = packet.peer_arena_opened;
    if (const Status s = session.TakeOpened(opened, &result); !s.ok()) {
      return Break(local, "sent " + Message(s));
    }
    devices_->OnPeerArenaOpened(local, static_cast<int>(opened.local_rank), opened.arena,
                                        result);
    BreakUnlessOk(local, session.SendNextPeerArenas());
  } else if (packet.kind == local::PacketKind::kDeviceUse) {
    std::string why;
    if (const Status s = session.TakeNoUse(packet.device_use, &why); !s.ok()) {
      return Break(local, "sent " + Message(s));
    }
    devices_->OnNoDeviceUse(local, why);
  } else {
    if (const Status s = session.TakeMapped(packet.host_scratch_mapped, &result); !s.ok()) {
      return Break(local, "sent " + Message(s));
    }
    devices_->OnHostScratchMapped(local, result);
  }
}

void Sessions::AddDeviceArena(Session& session, TrainerPacket& packet) {
  const int local = session.local();
  StatusOr<DeviceArena> arena =
      session.AddDeviceArena(packet.add_device_arena, std::move(packet.dmabuf));
  if (arena.ok()) return devices_->OnDeviceArena(local, std::move(*arena));
  if (arena.status().code() != StatusCode::kResourceExhausted) {
    return Break(local, "sent " + Message(arena.status()));
  }
  BreakUnlessOk(local, SendPacket(session.socket(), MakeRefused(local::ResultCode::kResourceExhausted,
                                                                Message(arena.status()))));
}

void Sessions::BreakUnlessOk(int local, const Status& status) {
  if (!status.ok()) Break(local, Message(status));
}

void Sessions::TakeDones() {
  for (size_t i = 0; i < sessions_.size(); ++i) {
    const int local = static_cast<int>(i);
    while (sessions_[i] != nullptr && devices_ != nullptr) {
      local::DoneSlot done;
      const StatusOr<bool> any = sessions_[i]->commands().TakeDone(done);
      if (!any.ok()) {
        Break(local, "wrote " + Message(any.status()));
        break;
      }
      if (!*any) break;
      devices_->OnCommandDone(local, done);
    }
  }
}

void Sessions::SendPeerArena(int local, const local::PeerArena& arena) {
  if (sessions_[local] != nullptr) BreakUnlessOk(local, sessions_[local]->SendPeerArena(arena));
}

void Sessions::SendHostScratch(int local, uint64_t bytes, int fd) {
  if (sessions_[local] != nullptr) {
    BreakUnlessOk(local, sessions_[local]->SendHostScratch(bytes, fd));
  }
}

void Sessions::SendDeviceUse(int local, bool use, const std::string& why_not) {
  if (sessions_[local] == nullptr) return;
  local::DeviceUse packet;
  packet.use = use ? 1 : 0;
  local::PutText(why_not, packet.why_not);
  BreakUnlessOk(local, SendPacket(sessions_[local]->socket(), packet));
}

void Sessions::SendCommand(int local, const local::CommandSlot& command,
                           std::vector<CommandWord> words) {
  if (sessions_[local] != nullptr) sessions_[local]->commands().Push(command, std::move(words));
}

std::byte* Sessions::HostMemory(int local, uint32_t arena, uint64_t offset, uint64_t bytes) {
  return sessions_[local] == nullptr ? nullptr
                                     : sessions_[local]->HostMemory(arena, offset, bytes);
}

void Sessions::EndSession(int local, const std::string& reason) { Break(local, reason); }

}  // namespace reigen::worker
