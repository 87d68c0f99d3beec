// Numbers of the RDMA transport, each with its reason. Both ends of a link are of
// one version and use the same.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_RDMA_LIMITS_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_RDMA_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/base/clock.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/link_limits.h"

namespace reigen::transport::rdma {

// Queue pairs for data of one link. A share of a message is counted with 4 bits.
inline constexpr int kMaxChannels = 15;

// Control messages on their way that the peer has not told to have taken. At the
// limit frames wait here; it is given back half by half.
inline constexpr uint32_t kControlWindow = 64;

// A message that only gives back window is not counted by it. Two at most are on
// their way, for each gives back half a window that cannot be used before it came.
inline constexpr uint32_t kControlReturns = 2;
inline constexpr uint32_t kControlQueue = kControlWindow + kControlReturns;

// Receives on each data queue: every open credit may end with one imm on each of
// them, so a sender never meets a queue without one (no RNR).
inline constexpr uint32_t kDataReceives = kMaxPosts;

// A device with fewer work requests than this for a queue is not used: it could
// not hold the posts of a collective.
inline constexpr uint32_t kMinQueueWrs = 1024;

// A message is cut into pieces so that free queues can take them. Below the lower
// bound the cost of a work request shows; above the upper one a slow queue holds
// up too much.
inline constexpr uint64_t kMinPieceBytes = uint64_t{64} << 10;
inline constexpr uint64_t kMaxPieceBytes = uint64_t{1} << 20;

// Pieces on their way in one queue: enough bytes to fill a long fast path, few
// enough to leave the rest to others.
inline constexpr uint32_t kPiecesOut = 16;
inline constexpr uint64_t kPieceBytesOut = uint64_t{4} << 20;

// Further room in a data queue for the imms that end shares. They carry nothing.
inline constexpr uint32_t kDataSends = 2 * kPiecesOut;

// Requests out in a queue pair that a device has with itself, for one link: read-backs and
// short messages to be placed. More wait here.
inline constexpr uint32_t kLoopbackWrs = 64;
// Short messages on their way by one of them.
inline constexpr uint32_t kLoopbackSlots = 16;

// A device that has registered a GPU's memory reads of it before it is counted on. That takes
// microseconds; the worker is not heard of meanwhile, so that this, for all devices of a
// host together and once, is below what its guard waits for.
inline constexpr Duration kTryDeadline = seconds(2);

// Devices count retries by clocks of their own, and some retry for longer than they were told,
// or without end (adaptive retransmission, a stopped firmware). So a queue without an answer is
// lost after so many retry budgets, whatever its device says.
inline constexpr int kSilentBudgets = 2;

// A link cannot be made while a port is down; its ports are read again so often.
inline constexpr Duration kRefreshEvery = milliseconds(100);

// Work completions taken at once, and in one Progress() for one link: the others
// must have their turn.
inline constexpr size_t kPollBatch = 64;
inline constexpr size_t kPollPerTurn = 512;

// The queues of a link that ends are given so long to give back what is posted;
// then they are destroyed, which has the same effect.
inline constexpr Duration kDrainDeadline = seconds(1);

// Ports that an end names as left out: of more, the first.
inline constexpr size_t kMaxLeftOut = 32;

// One message of the side channel. The largest is an offer of kMaxRails rails.
inline constexpr size_t kMaxSetupBytes = 8192;
inline constexpr size_t kMaxTextBytes = 1024;
inline constexpr size_t kMaxNameBytes = 64;

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_RDMA_LIMITS_H_
