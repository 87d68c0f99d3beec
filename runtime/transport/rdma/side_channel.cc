#include "runtime/transport/rdma/side_channel.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "runtime/transport/rdma/rdma_limits.h"

namespace reigen::transport::rdma {

Status SideChannel::Watch(Poller& poller) {
  REIGEN_ASSIGN_OR_RETURN(
      watch_, poller.Add(fd_.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                         [this](uint32_t events) {
                           if ((events & ~static_cast<uint32_t>(EPOLLOUT)) != 0) readable_ = true;
                           if ((events & EPOLLOUT) != 0) writable_ = true;
                         }));
  return OkStatus();
}

UniqueFd SideChannel::TakeFd() {
  watch_.Reset();
  return std::move(fd_);
}

Status SideChannel::Send(const SetupMessage& message) {
  out_ += Encode(message);
  return Flush();
}

Status SideChannel::Flush() {
  while (writable_ && !out_.empty()) {
    const ssize_t sent = send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      out_.erase(0, static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      writable_ = false;
    } else if (errno != EINTR) {
      return ErrnoStatus(StatusCode::kUnavailable, "send");
    }
  }
  return OkStatus();
}

StatusOr<std::optional<SetupMessage>> SideChannel::Receive() {
  REIGEN_RETURN_IF_ERROR(Flush());
  REIGEN_ASSIGN_OR_RETURN(std::optional<SetupMessage> message, Parse());
  if (!message && readable_) {
    REIGEN_RETURN_IF_ERROR(Read());
    REIGEN_ASSIGN_OR_RETURN(message, Parse());
  }
  if (message) {
    if (const Bye* bye = std::get_if<Bye>(&*message)) {
      bye_ = true;
      return Unavailable("ended by the peer: " + bye->reason);
    }
    return message;
  }
  if (ended_) return Unavailable("closed by the peer");
  return message;
}

Status SideChannel::Read() {
  std::array<char, kMaxSetupBytes> buffer;
  while (readable_ && in_.size() < kMaxSetupBytes + kSetupHeaderBytes) {
    const ssize_t got = recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (got > 0) {
      in_.append(buffer.data(), static_cast<size_t>(got));
    } else if (got == 0) {
      readable_ = false;
      ended_ = true;
    } else if (errno == EAGAIN) {
      readable_ = false;
    } else if (errno != EINTR) {
      readable_ = false;
      if (in_.empty()) return ErrnoStatus(StatusCode::kUnavailable, "the side channel");
      ended_ = true;
    }
  }
  return OkStatus();
}

StatusOr<std::optional<SetupMessage>> SideChannel::Parse() {
  if (in_.size() < kSetupHeaderBytes) return std::optional<SetupMessage>();
  const auto bytes = std::as_bytes(std::span(in_));
  REIGEN_ASSIGN_OR_RETURN(const size_t body, SetupBodyBytes(bytes.first<kSetupHeaderBytes>()));
  if (in_.size() < kSetupHeaderBytes + body) return std::optional<SetupMessage>();
  const auto kind = static_cast<uint8_t>(in_[kSetupHeaderBytes - 1]);
  REIGEN_ASSIGN_OR_RETURN(SetupMessage message,
                          DecodeSetup(kind, bytes.subspan(kSetupHeaderBytes, body)));
  in_.erase(0, kSetupHeaderBytes + body);
  return std::optional<SetupMessage>(std::move(message));
}

}  // namespace reigen::transport::rdma
