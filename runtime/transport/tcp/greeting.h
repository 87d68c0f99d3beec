// A socket on which a handshake is under way.
#ifndef REIGEN_RUNTIME_TRANSPORT_TCP_GREETING_H_
#define REIGEN_RUNTIME_TRANSPORT_TCP_GREETING_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/tcp/handshake.h"

namespace reigen::transport {

// Moves the bytes of a Handshake. Reads no byte beyond it.
//
// Threads: one owner.
class Greeting {
 public:
  Greeting(UniqueFd fd, std::unique_ptr<Handshake> handshake)
      : fd_(std::move(fd)), handshake_(std::move(handshake)) {}

  // Call when the socket is writable or readable, however often. An error ends it.
  Status Advance();

  int fd() const { return fd_.get(); }
  UniqueFd TakeFd() { return std::move(fd_); }

 private:
  Status Write();
  StatusOr<bool> Read();  // false: nothing more to read now

  UniqueFd fd_;
  std::unique_ptr<Handshake> handshake_;
  std::string in_;   // less than wanted()
  std::string out_;  // not written yet
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_TCP_GREETING_H_
