// What the two ends of a link tell each other over TCP: before the first queue pair
// works, and when it ends. Pure: bytes in, bytes out.
//
//   Offer  --><--  Offer    the ports of each; the same pairs follow at both ends
//   Queues --><--  Queues   numbers of the queue pairs made for them
//   Ready  --><--  Ready    connected: the other end may write
//   Bye    -->              the end, with its reason
//
// Each is a length (4 bytes, little-endian), a kind (1 byte) and that many bytes.
// Nothing here trusts the peer.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_SETUP_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_SETUP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/rdma/path.h"

namespace reigen::transport::rdma {

inline constexpr uint32_t kSetupVersion = 8;

struct Offer {
  uint16_t channels = 1;  // data queues wanted; the smaller of both counts
  std::vector<RailAddress> rails;
  std::vector<PortName> left_out;  // see Choice, also below
  std::vector<PortName> spare;
};

struct QueueAddress {
  uint32_t number = 0;
  uint32_t psn = 0;  // of the first packet from there
};

struct Queues {
  std::vector<QueueAddress> queues;  // the control queue, then those for data
};

struct Ready {};

struct Bye {
  std::string reason;
};

using SetupMessage = std::variant<Offer, Queues, Ready, Bye>;

// A whole message, length and kind included.
std::string Encode(const SetupMessage& message);

inline constexpr size_t kSetupHeaderBytes = 5;
// Of the body; InvalidArgument if it is longer than any message.
StatusOr<size_t> SetupBodyBytes(std::span<const std::byte, kSetupHeaderBytes> header);
StatusOr<SetupMessage> DecodeSetup(uint8_t kind, std::span<const std::byte> body);

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_SETUP_H_
