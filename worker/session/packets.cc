#include "worker/session/packets.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/unique_fd.h"

namespace reigen::worker {
namespace {

constexpr size_t kMaxFds = 3;  // that are sent
// The most that the kernel passes with a packet. It closes what finds no room, in the
// thread that receives.
constexpr size_t kMaxFdsReceived = 253;

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
    case local::PacketKind::kAddDeviceArena:
      fits = CopyExactly(bytes, packet.add_device_arena);
      break;
    case local::PacketKind::kPeerArenaOpened:
      fits = CopyExactly(bytes, packet.peer_arena_opened);
      break;
    case local::PacketKind::kHostScratchMapped:
      fits = CopyExactly(bytes, packet.host_scratch_mapped);
      break;
    case local::PacketKind::kDeviceUse: fits = CopyExactly(bytes, packet.device_use); break;
    default: break;
  }
  if (!fits) return InvalidArgument("a packet that trainers do not send");
  return packet;
}

// Takes the descriptors out of a message, so that none is left open.
std::vector<TrainerFd> TakeFds(msghdr& message, collective::WorkExecutor* executor) {
  std::vector<TrainerFd> fds;
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    std::vector<int> numbers((at->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(numbers.data(), CMSG_DATA(at), numbers.size() * sizeof(int));
    for (int fd : numbers) fds.emplace_back(UniqueFd(fd), executor);
  }
  return fds;
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

std::string TextOf(std::span<const char> field) {
  std::string text(field.data(), strnlen(field.data(), field.size()));
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

StatusOr<std::optional<TrainerPacket>> ReceivePacket(int socket,
                                                     collective::WorkExecutor* executor) {
  std::array<std::byte, 512> bytes;
  static_assert(sizeof(local::AddDeviceArena) < sizeof bytes, "the largest of a trainer");
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFdsReceived * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t received = 0;
  do {
    received = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received == 0) return Unavailable("closed");
  if (received < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::optional<TrainerPacket>();
    return ErrnoStatus(StatusCode::kUnavailable, "receiving from the trainer");
  }
  std::vector<TrainerFd> fds = TakeFds(message, executor);
  REIGEN_ASSIGN_OR_RETURN(TrainerPacket packet,
                          Parse({bytes.data(), static_cast<size_t>(received)}));
  if (!fds.empty()) {
    if (packet.kind != local::PacketKind::kAddDeviceArena) {
      return InvalidArgument("a descriptor with a packet that has none");
    }
    if (fds.size() > 1) return InvalidArgument("more than one descriptor");
    packet.dmabuf = std::move(fds[0]);
  }
  return std::optional<TrainerPacket>(std::move(packet));
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
