#include "worker/session/packets.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "runtime/base/check.h"

namespace reigen::worker {
namespace {

constexpr size_t kMaxFds = 3;

// The struct of one kind, of exactly its size.
template <typename T>
bool CopyExactly(std::span<const std::byte> bytes, T& out) {
  if (bytes.size() != sizeof(T)) return false;
  std::memcpy(static_cast<void*>(&out), bytes.data(), sizeof(T));
  return true;
}

StatusOr<TrainerPacket> Parse(std::span<const std::byte> bytes) {
  local::Packet head;
  if (bytes.size() < sizeof head) return InvalidArgument("a packet without a head");
  std::memcpy(static_cast<void*>(&head), bytes.data(), sizeof head);
  if (head.magic != local::kMagic) return InvalidArgument("a packet of another protocol");
  if (head.version != local::kVersion) {
    return InvalidArgument("version " + std::to_string(head.version) +
                           " of the SDK's protocol; this worker speaks version " +
                           std::to_string(local::kVersion));
  }
  TrainerPacket packet;
  packet.kind = head.kind;
  bool fits = false;
  local::Shutdown shutdown;
  switch (head.kind) {
    case local::PacketKind::kHello: fits = CopyExactly(bytes, packet.hello); break;
    case local::PacketKind::kGrowArena: fits = CopyExactly(bytes, packet.grow_arena); break;
    case local::PacketKind::kShutdown: fits = CopyExactly(bytes, shutdown); break;
    default: break;
  }
  if (!fits) return InvalidArgument("a packet that trainers do not send");
  return packet;
}

}  // namespace

Status SendPacket(int socket, const void* packet, size_t bytes, std::span<const int> fds) {
  REIGEN_CHECK(fds.size() <= kMaxFds);
  iovec part{const_cast<void*>(packet), bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))] = {};
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(head), fds.data(), fds.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return ErrnoStatus(StatusCode::kUnavailable, "sending to the trainer");
  return OkStatus();
}

local::Refused MakeRefused(local::ResultCode code, const std::string& text) {
  local::Refused refused;
  refused.code = static_cast<uint32_t>(code);
  refused.text_bytes = static_cast<uint32_t>(std::min(text.size(), sizeof(refused.text)));
  std::memcpy(refused.text, text.data(), refused.text_bytes);
  return refused;
}

StatusOr<std::optional<TrainerPacket>> ReceivePacket(int socket) {
  std::array<std::byte, 256> bytes;  // more than any packet of a trainer
  ssize_t received = 0;
  do {
    // Descriptors sent along are dropped by the kernel: there is no room for them.
    received = recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  } while (received < 0 && errno == EINTR);
  if (received == 0) return Unavailable("closed");
  if (received < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::optional<TrainerPacket>();
    return ErrnoStatus(StatusCode::kUnavailable, "receiving from the trainer");
  }
  REIGEN_ASSIGN_OR_RETURN(TrainerPacket packet,
                          Parse({bytes.data(), static_cast<size_t>(received)}));
  return std::optional<TrainerPacket>(packet);
}

StatusOr<PeerIdentity> PeerOf(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return ErrnoStatus(StatusCode::kUnavailable, "SO_PEERCRED");
  }
  return PeerIdentity{credentials.pid, credentials.uid};
}

}  // namespace reigen::worker
