// How much one peer may have open at a link. Both ends are of one version and
// use the same numbers; a peer that exceeds one breaks the protocol and loses the
// link with an error that names the limit.
#ifndef REIGEN_RUNTIME_TRANSPORT_LINK_LIMITS_H_
#define REIGEN_RUNTIME_TRANSPORT_LINK_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/base/clock.h"

namespace reigen::transport {

// Messages up to here may travel without a credit: below it a copy through a slot
// costs less than the round trip of a credit. One page.
inline constexpr size_t kEagerBytes = 4096;

// Eager messages of one stream and direction that the receiver has not consumed.
// Recursive doubling keeps two per plan in flight; 16 let eight plans overlap.
// At the limit the sender asks for a credit (RTS).
inline constexpr uint32_t kEagerSlots = 16;

// The receiver acknowledges without a message to carry it from this many on: the
// sender then still has the other half of its slots.
inline constexpr uint32_t kAckAtLeast = kEagerSlots / 2;

// Streams of one direction with a slot in use: 256 * 16 * 4 KiB = 16 MiB of slot
// memory at most for one peer. At the limit further streams use credits.
inline constexpr size_t kMaxEagerStreams = 256;

// Posts of one direction that were not polled yet. A collective has 2 * channels
// segments in flight: 4096 is 256 collectives of 8 channels. At the limit PostX
// says ResourceExhausted; it also bounds the peer's credits and RTS kept here.
inline constexpr size_t kMaxPosts = 4096;

// One message. Nothing is allocated for it: the bound is against nonsense only.
inline constexpr uint64_t kMaxMessageBytes = uint64_t{1} << 40;

// A sender that got no credit for so long asks for it (RTS), which shows a peer
// that waits for another length. Far above what a busy peer takes, far below
// what people call a hang.
inline constexpr Duration kAskForCreditAfter = milliseconds(200);

// Notices about plan mismatches kept until the owner logs them.
inline constexpr size_t kMaxNotices = 8;

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_LINK_LIMITS_H_
