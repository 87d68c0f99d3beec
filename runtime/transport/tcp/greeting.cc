#include "runtime/transport/tcp/greeting.h"

#include <sys/socket.h>

#include <cerrno>

namespace reigen::transport {

Status Greeting::Advance() {
  for (;;) {
    REIGEN_RETURN_IF_ERROR(Write());
    REIGEN_ASSIGN_OR_RETURN(const bool more, Read());
    if (!more) return OkStatus();
  }
}

Status Greeting::Write() {
  out_ += handshake_->TakeOutput();
  while (!out_.empty()) {
    const ssize_t sent = send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return OkStatus();
    if (sent < 0) return ErrnoStatus(StatusCode::kUnavailable, "send");
    out_.erase(0, static_cast<size_t>(sent));
  }
  return OkStatus();
}

StatusOr<bool> Greeting::Read() {
  const size_t wanted = handshake_->wanted();
  if (wanted == 0) return false;
  char buffer[kHelloBytes];
  const ssize_t got = recv(fd_.get(), buffer, wanted - in_.size(), 0);
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && errno == EAGAIN) return false;
  if (got < 0) return ErrnoStatus(StatusCode::kUnavailable, "recv");
  if (got == 0) return Unavailable("closed during the handshake");
  in_.append(buffer, static_cast<size_t>(got));
  if (in_.size() < wanted) return true;
  const std::string message = std::exchange(in_, {});
  REIGEN_RETURN_IF_ERROR(handshake_->OnMessage(std::as_bytes(std::span(message))));
  return true;
}

}  // namespace reigen::transport
