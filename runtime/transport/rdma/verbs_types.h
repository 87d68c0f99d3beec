// What the verbs speak of, in types of our own: only real/ knows libibverbs.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_VERBS_TYPES_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_VERBS_TYPES_H_

#include <cstddef>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/transport/rdma/gid.h"

namespace reigen::transport::rdma {

// kUnspecified: neither. Links cannot use such a port.
enum class LinkLayer : uint8_t { kUnspecified = 0, kInfiniBand = 1, kEthernet = 2 };
enum class GidType : uint8_t { kInfiniBand = 0, kRoceV1 = 1, kRoceV2 = 2 };

struct GidEntry {
  int index = 0;
  Gid gid;
  GidType type = GidType::kInfiniBand;
};

struct PortInfo {
  uint8_t number = 1;
  bool active = false;
  std::string state;  // "ACTIVE", "DOWN"
  LinkLayer layer = LinkLayer::kEthernet;
  uint32_t active_mtu_bytes = 0;
  uint32_t max_message_bytes = 0;
  uint16_t lid = 0;  // InfiniBand only
  bool global_only = false;  // packets are routed by GID inside the subnet, too
  double gbits_per_s = 0;
  std::vector<GidEntry> gids;
  std::vector<uint16_t> pkeys;  // by index
};

struct PortName {
  std::string device;
  uint8_t port = 1;

  auto operator<=>(const PortName&) const = default;
};

struct DeviceInfo {
  std::string name;  // "mlx5_0", "rxe0"
  uint32_t max_qp_wrs = 0;
  uint32_t max_cqes = 0;
  uint64_t max_region_bytes = 0;
  std::vector<PortInfo> ports;
};

// How a work request ended. Numbers are those of ibv_wc_status.
enum class WorkStatus : uint8_t {
  kSuccess = 0,
  kLocalLength = 1,
  kLocalQpOperation = 2,
  kLocalEecOperation = 3,
  kLocalProtection = 4,
  kFlushed = 5,
  kMemoryWindowBind = 6,
  kBadResponse = 7,
  kLocalAccess = 8,
  kRemoteInvalidRequest = 9,
  kRemoteAccess = 10,
  kRemoteOperation = 11,
  kRetryExceeded = 12,
  kRnrRetryExceeded = 13,
  kLocalRddViolation = 14,
  kRemoteInvalidRdRequest = 15,
  kRemoteAborted = 16,
  kInvalidEecNumber = 17,
  kInvalidEecState = 18,
  kFatal = 19,
  kResponseTimeout = 20,
  kGeneral = 21,
  kTagMatching = 22,
  kTagMatchingRendezvous = 23,
};
inline constexpr int kWorkStatuses = 24;

enum class Opcode : uint8_t { kSend, kWrite, kWriteWithImm, kRead, kReceive, kReceiveWithImm };

struct WorkCompletion {
  uint64_t id = 0;
  WorkStatus status = WorkStatus::kSuccess;
  uint32_t qp_number = 0;
  uint32_t vendor_error = 0;
  // Valid when status is kSuccess only:
  Opcode opcode = Opcode::kSend;
  uint32_t bytes = 0;      // received, or written by the peer with the imm
  uint32_t immediate = 0;  // host byte order
};

struct Segment {
  const std::byte* address = nullptr;
  uint32_t bytes = 0;
  uint32_t local_key = 0;
};

// Every work request is signalled: one completion each.
struct SendWork {
  uint64_t id = 0;
  Opcode opcode = Opcode::kSend;  // kSend, kWrite, kWriteWithImm, kRead
  Segment local;                  // bytes 0: none; where a kRead puts what it read
  uint64_t remote_address = 0;    // kWrite*, kRead
  uint32_t remote_key = 0;
  uint32_t immediate = 0;
  bool inlined = false;  // the bytes are copied while posting; local_key is not used
};

struct ReceiveWork {
  uint64_t id = 0;
  Segment local;  // bytes 0: for an imm only
};

struct QpLimits {
  uint32_t send_wrs = 0;
  uint32_t receive_wrs = 0;
  uint32_t inline_bytes = 0;  // asked for; QueuePair::inline_bytes() says what there is
  bool remote_read = false;   // the peer may read, too, what may be read
};

// Everything that takes a queue pair to its peer.
struct PathAttributes {
  uint8_t port = 1;
  uint8_t gid_index = 0;
  bool global = true;  // route by GID; always on Ethernet
  Gid remote_gid;
  uint16_t remote_lid = 0;
  uint32_t remote_qp = 0;
  uint32_t local_psn = 0;
  uint32_t remote_psn = 0;
  uint32_t mtu_bytes = 1024;
  uint8_t service_level = 0;
  uint8_t traffic_class = 0;
  uint8_t timeout_exponent = 17;  // 4.096 us * 2^this until a packet is sent again
  uint8_t retries = 6;
  uint8_t rnr_retries = 6;
};

enum class Access : uint8_t {
  kLocal,    // read and written here only
  kRemote,   // the peer writes, and each write is seen in order
  kRelaxed,  // the peer writes, order is that of completions only
};

enum class AsyncKind : uint8_t {
  kDeviceFatal,
  kCqError,
  kQpFatal,
  kQpError,  // request or access error
  kPortError,
  kPortActive,
  kAddressChange,  // GID, LID, PKey or subnet manager
  kOther,
};

struct AsyncEvent {
  AsyncKind kind = AsyncKind::kOther;
  std::string text;        // the library's words
  uint32_t qp_number = 0;  // of kQpFatal and kQpError
  uint32_t cq_number = 0;  // of kCqError
  uint8_t port = 0;        // of port and address events
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_VERBS_TYPES_H_
