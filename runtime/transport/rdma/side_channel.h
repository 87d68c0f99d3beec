// The TCP connection that goes with a link: set-up messages, and the sign of life.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_SIDE_CHANNEL_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_SIDE_CHANNEL_H_

#include <optional>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/rdma/setup.h"
#include "runtime/transport/tcp/poller.h"

namespace reigen::transport::rdma {

// An idle queue pair says nothing when its peer has gone; a TCP connection does: at
// once when the process died, by its keep-alive when the path did.
//
// Threads: one owner.
// Errors:  Unavailable when the connection ended, with the peer's reason if it gave
//          one; InvalidArgument when what came is no message.
class SideChannel {
 public:
  // A socket after its handshake.
  explicit SideChannel(UniqueFd fd) : fd_(std::move(fd)) {}

  Status Watch(Poller& poller);

  Status Send(const SetupMessage& message);
  // The next message, if it is here. A Bye is an error.
  StatusOr<std::optional<SetupMessage>> Receive();
  // The peer has closed it without a word, and all that it had sent is read.
  bool closed() const { return ended_ && in_.empty() && !bye_; }
  // Something may have come since Receive() said that nothing had.
  bool readable() const { return readable_; }

  int fd() const { return fd_.get(); }
  UniqueFd TakeFd();

 private:
  Status Flush();
  Status Read();
  StatusOr<std::optional<SetupMessage>> Parse();

  UniqueFd fd_;
  Poller::Watch watch_;
  bool readable_ = true;
  bool writable_ = true;
  bool ended_ = false;
  bool bye_ = false;
  std::string in_;
  std::string out_;
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_SIDE_CHANNEL_H_
