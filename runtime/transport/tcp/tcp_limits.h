// Bounds on what strangers and peers may take of a TCP transport, each with what
// happens there.
#ifndef REIGEN_RUNTIME_TRANSPORT_TCP_TCP_LIMITS_H_
#define REIGEN_RUNTIME_TRANSPORT_TCP_TCP_LIMITS_H_

#include <cstddef>

#include "runtime/base/clock.h"

namespace reigen::transport {

// Sockets of one link. More never helped one thread; the peer's number is refused
// above it.
inline constexpr int kMaxChannels = 64;

// A caller that has not proved itself by then is dropped: a peer needs two round
// trips and no thought.
inline constexpr Duration kGreetingDeadline = seconds(5);

// Callers that have not proved themselves yet. At the limit the oldest goes: a
// flood of strangers must not keep a peer out.
inline constexpr size_t kMaxGreetings = 256;

// Time for one address of a peer to answer before the next one is tried.
inline constexpr Duration kAttemptDeadline = seconds(2);

// Between two rounds over the addresses of a peer that is not there yet: doubled
// from the first to the second.
inline constexpr Duration kRedialFirst = milliseconds(20);
inline constexpr Duration kRedialLast = milliseconds(500);

// Lines in the log about callers that were dropped: strangers must not fill it.
inline constexpr int kDropLinesPerSecond = 10;

// A socket closed here is read until the peer closes it too, so that what was
// sent before the end arrives: closing with unread data would reset it.
inline constexpr Duration kFarewellDeadline = seconds(2);

// The peer closed some sockets of a link; the others must follow.
inline constexpr Duration kCloseTogether = seconds(1);

// Accepting pauses when the process has no file descriptors left.
inline constexpr Duration kAcceptPause = milliseconds(100);

// Bytes read, and written, for one socket in one Progress(): about 100 us of
// copying, so that one link does not hold up the others.
inline constexpr size_t kBytesPerTurn = size_t{1} << 20;

// Read ahead of the frame in hand: room for many small frames at once, while at
// most so much of a large message is copied twice.
inline constexpr size_t kReadAheadBytes = 8192;

// Within a large payload the receiver is woken for so many bytes at least. The
// system never waits for more than the socket's buffer holds.
inline constexpr size_t kLowWaterBytes = size_t{128} << 10;

// Frames written by one system call, and bytes from which no further is added:
// what is in a socket's batch cannot move to a socket that is free.
inline constexpr size_t kBatchFrames = 16;
inline constexpr size_t kBatchBytes = size_t{64} << 10;

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_TCP_TCP_LIMITS_H_
