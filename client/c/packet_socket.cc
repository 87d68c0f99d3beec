#include "client/c/packet_socket.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>

namespace reigen::sdk {
namespace {

// Welcome brings three; more than this is nonsense.
constexpr size_t kMaxFds = 8;
// A program may close descriptors that are not its own: a thread that sleeps on one does
// not learn of it. So it looks again after this.
constexpr timeval kLook = {.tv_sec = 5, .tv_usec = 0};

size_t PacketBytes(local::PacketKind kind) {
  switch (kind) {
    case local::PacketKind::kWelcome: return sizeof(local::Welcome);
    case local::PacketKind::kRefused: return sizeof(local::Refused);
    case local::PacketKind::kEpochBegun: return sizeof(local::EpochBegun);
    case local::PacketKind::kArenaGrown: return sizeof(local::ArenaGrown);
    case local::PacketKind::kShutdownDone: return sizeof(local::ShutdownDone);
    case local::PacketKind::kDeviceArenaAdded: return sizeof(local::DeviceArenaAdded);
    case local::PacketKind::kPeerArena: return sizeof(local::PeerArena);
    case local::PacketKind::kHostScratch: return sizeof(local::HostScratch);
    case local::PacketKind::kDeviceUse: return sizeof(local::DeviceUse);
    default: return 0;  // not for a trainer
  }
}

void TakeFds(msghdr& message, std::vector<UniqueFd>* fds) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      fds->emplace_back(fd);
    }
  }
}

Result LostSocket() {
  if (errno == EBADF || errno == ENOTSOCK) {
    return Fail(REIGEN_UNAVAILABLE, "this program has closed the library's socket to the worker");
  }
  return FailErrno(REIGEN_UNAVAILABLE, "the worker of this host");
}

}  // namespace

Result PacketSocket::Connect(const std::string& path, PacketSocket* out) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return Invalid("REIGEN_SOCKET is too long: " + path);
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return FailErrno(REIGEN_RESOURCE_EXHAUSTED, "a socket to the worker");
  if (setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kLook, sizeof(kLook)) != 0) {
    return FailErrno(REIGEN_RESOURCE_EXHAUSTED, "a socket to the worker");
  }
  int rc = 0;
  do {
    rc = connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } while (rc != 0 && errno == EINTR);
  if (rc != 0) return FailErrno(REIGEN_UNAVAILABLE, "connecting to the worker at " + path);
  out->fd_ = std::move(fd);
  return Ok();
}

Result PacketSocket::SendBytes(const void* data, size_t bytes, int fd) {
  iovec buffer = {.iov_base = const_cast<void*>(data), .iov_len = bytes};
  msghdr message = {};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return LostSocket();
  return Ok();
}

Result PacketSocket::Receive(ReceivedPacket* out) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxFds * sizeof(int))> control{};
  iovec buffer = {.iov_base = out->bytes.data(), .iov_len = out->bytes.size()};
  msghdr message = {};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t received = 0;
  do {
    received = recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (received < 0 && (errno == EINTR || errno == EAGAIN));
  if (received < 0) return LostSocket();
  if (received == 0) return Fail(REIGEN_UNAVAILABLE, "the worker of this host is gone");
  TakeFds(message, &out->fds);
  local::Packet packet;
  if (static_cast<size_t>(received) < sizeof(packet)) {
    return Fail(REIGEN_INTERNAL, "a short packet from the worker");
  }
  std::memcpy(&packet, out->bytes.data(), sizeof(packet));
  if (packet.magic != local::kMagic || packet.version != local::kVersion) {
    return Fail(REIGEN_INTERNAL, "the worker speaks version " + std::to_string(packet.version) +
                                     " of the local protocol, this library " +
                                     std::to_string(local::kVersion));
  }
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
      static_cast<size_t>(received) != PacketBytes(packet.kind)) {
    return Fail(REIGEN_INTERNAL, "an unexpected packet from the worker");
  }
  out->kind = packet.kind;
  return Ok();
}

void PacketSocket::ShutDown() { shutdown(fd_.get(), SHUT_RDWR); }

Result RefusedResult(const ReceivedPacket& packet) {
  const auto refused = packet.As<local::Refused>();
  const size_t bytes = std::min<size_t>(refused.text_bytes, sizeof(refused.text));
  const bool known = refused.code >= 1 && refused.code <= REIGEN_INTERNAL;
  return Fail(known ? static_cast<reigen_status>(refused.code) : REIGEN_INTERNAL,
              std::string(refused.text, bytes));
}

}  // namespace reigen::sdk
