// The session's socket: one struct a packet, with file descriptors.
//
// Threads: one receiver and one sender at a time.
#ifndef REIGEN_CLIENT_C_PACKET_SOCKET_H_
#define REIGEN_CLIENT_C_PACKET_SOCKET_H_

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "client/c/result.h"
#include "proto/local/local.h"
#include "runtime/base/unique_fd.h"

namespace reigen::sdk {

struct ReceivedPacket {
  local::PacketKind kind = local::PacketKind::kHello;
  std::array<std::byte, sizeof(local::Refused)> bytes{};  // the largest
  std::vector<UniqueFd> fds;

  template <typename T>
  T As() const {
    T packet;
    std::memcpy(static_cast<void*>(&packet), bytes.data(), sizeof(T));
    return packet;
  }
};

class PacketSocket {
 public:
  static Result Connect(const std::string& path, PacketSocket* out);

  int fd() const { return fd_.get(); }
  // With a descriptor, if there is one; it stays the caller's.
  template <typename T>
  Result Send(const T& packet, int fd = -1) {
    return SendBytes(&packet, sizeof(packet), fd);
  }
  // Blocks. Unavailable: the other side is gone. Internal: it sent nonsense.
  Result Receive(ReceivedPacket* out);
  // Ends a Receive of another thread, for good.
  void ShutDown();

 private:
  Result SendBytes(const void* data, size_t bytes, int fd);

  UniqueFd fd_;
};

// What a Refused packet says.
Result RefusedResult(const ReceivedPacket& packet);

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_PACKET_SOCKET_H_
