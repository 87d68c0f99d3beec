// One struct a packet over a UNIX SOCK_SEQPACKET socket.
#ifndef REIGEN_WORKER_SESSION_PACKETS_H_
#define REIGEN_WORKER_SESSION_PACKETS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "proto/local/local.h"
#include "runtime/base/status.h"
#include "runtime/collective/executor.h"
#include "worker/session/trainer_fd.h"

namespace reigen::worker {

// What a trainer may send, copied out; other bytes never get here.
struct TrainerPacket {
  local::PacketKind kind = local::PacketKind::kHello;
  local::Hello hello;          // kHello
  local::GrowArena grow_arena; // kGrowArena
  local::AddDeviceArena add_device_arena;         // kAddDeviceArena
  TrainerFd dmabuf;                               // of it; of no other packet
  local::PeerArenaOpened peer_arena_opened;       // kPeerArenaOpened
  local::HostScratchMapped host_scratch_mapped;   // kHostScratchMapped
  local::DeviceUse device_use;                    // kDeviceUse
};

// Never waits: a trainer that does not read loses its session (an error).
Status SendPacket(int socket, const void* packet, size_t bytes, std::span<const int> fds = {});

template <typename T>
Status SendPacket(int socket, const T& packet, std::span<const int> fds = {}) {
  return SendPacket(socket, &packet, sizeof packet, fds);
}

// A text field of a packet or a slot, to be shown to people: up to its end or the first 0;
// what is not printable becomes '?'.
std::string TextOf(std::span<const char> field);

local::Refused MakeRefused(local::ResultCode code, const std::string& text);

// The next packet, if there is one. Unavailable: the other side has closed.
// InvalidArgument: it sent something else than a packet of a trainer. The executor closes
// what comes with it.
StatusOr<std::optional<TrainerPacket>> ReceivePacket(int socket,
                                                     collective::WorkExecutor* executor);

struct PeerIdentity {
  pid_t pid = 0;
  uid_t uid = 0;
};
// Of a connected UNIX socket, as the kernel knows it.
StatusOr<PeerIdentity> PeerOf(int socket);

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SESSION_PACKETS_H_
