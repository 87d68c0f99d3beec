#include "worker/session/listener.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/base/log.h"
#include "worker/limits.h"

namespace reigen::worker {

Listener::~Listener() {
  if (socket_.valid()) loop_->Remove(socket_.get());
  for (const auto& [fd, stranger] : strangers_) loop_->Remove(fd);
}

Status Listener::Listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return InvalidArgument("the socket's path is too long: " + path +
                           "; let REIGEN_RUNTIME_DIR be a shorter folder");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  socket_.Reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_.valid()) return ErrnoStatus(StatusCode::kResourceExhausted, "socket");
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (bind(socket_.get(), generic, sizeof address) != 0) {
    return ErrnoStatus(StatusCode::kUnavailable, "bind " + path);
  }
  if (listen(socket_.get(), limits::kMaxStrangers) != 0) {
    return ErrnoStatus(StatusCode::kUnavailable, "listen " + path);
  }
  return loop_->Add(socket_.get(), EPOLLIN, [this](uint32_t) { OnConnection(); });
}

void Listener::OnConnection() {
  while (true) {
    TrainerFd socket(
        UniqueFd(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)),
        executor_);
    if (!socket.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN) REIGEN_WARN("accepting a trainer: {}", std::strerror(errno));
      return;
    }
    const StatusOr<PeerIdentity> peer = PeerOf(socket.get());
    if (!peer.ok() || peer->uid != geteuid()) {
      REIGEN_WARN("a process of another user tried to attach");
      continue;
    }
    if (strangers_.size() == limits::kMaxStrangers) {
      const auto oldest =
          std::min_element(strangers_.begin(), strangers_.end(), [](const auto& a, const auto& b) {
            return a.second.number < b.second.number;
          });
      REIGEN_WARN("process {} said nothing: dropped", oldest->second.peer.pid);
      Drop(oldest->first);
    }
    const int fd = socket.get();
    strangers_[fd] = Stranger{std::move(socket), *peer, arrivals_++};
    if (const Status s = loop_->Add(fd, EPOLLIN, [this, fd](uint32_t) { OnPacket(fd); });
        !s.ok()) {
      REIGEN_WARN("process {} cannot attach: {}", peer->pid, Message(s));
      Drop(fd);
    }
  }
}

void Listener::OnPacket(int fd) {
  const auto it = strangers_.find(fd);
  if (it == strangers_.end()) return;
  const StatusOr<std::optional<TrainerPacket>> packet = ReceivePacket(fd, executor_);
  if (packet.ok() && !packet->has_value()) return;
  const pid_t pid = it->second.peer.pid;
  if (!packet.ok() || (*packet)->kind != local::PacketKind::kHello) {
    const std::string why = packet.ok() ? "its first packet is no Hello" : Message(packet.status());
    REIGEN_WARN("process {} did not attach: {}", pid, why);
    if (packet.status().code() == StatusCode::kInvalidArgument) {
      (void)SendPacket(fd, MakeRefused(local::ResultCode::kFailedPrecondition, why));
    }
    Drop(fd);
    return;
  }
  loop_->Remove(fd);
  Stranger stranger = std::move(it->second);
  strangers_.erase(it);
  on_hello_(std::move(stranger.socket), stranger.peer, (*packet)->hello);
}

void Listener::Drop(int fd) {
  loop_->Remove(fd);
  strangers_.erase(fd);
}

}  // namespace reigen::worker
