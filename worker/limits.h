// Bounds of what a worker takes from trainers and from the coordinator. The local
// protocol's own are in proto/local/local.h.
#ifndef REIGEN_WORKER_LIMITS_H_
#define REIGEN_WORKER_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace reigen::worker::limits {

// Ids of names in an epoch: a model of 10^4 tensors leaves room for 100 times as many
// names. The coordinator stops interning earlier; an id above is a broken plan stream.
inline constexpr uint32_t kMaxNameIds = 1u << 20;

// Late requests told in one heartbeat: more do not fit into a report that is read.
inline constexpr size_t kMaxWaitingReported = 32;
// Plans told as running in one heartbeat (control.proto).
inline constexpr size_t kMaxRunningReported = 16;

// A message from or to the coordinator: a group of local::kMaxGroupTensors tensors
// with the longest names (4096 * 4096 bytes) four times over. Larger: the stream ends.
inline constexpr int kMaxControlMessageBytes = 64 << 20;

// Requests a trainer may have in flight; one more fails with ResourceExhausted. Ten
// steps of a model of 6000 tensors.
inline constexpr size_t kMaxRequestsPerTrainer = 1u << 16;

// Connections that have not said Hello yet: each rank may retry a few times.
inline constexpr int kMaxStrangers = 64;

// One arena file, and all of a trainer's: more is ResourceExhausted. What the machine
// has is the true limit (the file is allocated when it is made).
inline constexpr uint64_t kMaxArenaBytes = 1ull << 40;

// Device arenas of a trainer, and their bytes in all: a GPU has less. Each is opened by
// every other trainer of the host.
inline constexpr size_t kMaxDeviceArenas = 256;
inline constexpr uint64_t kMaxDeviceArenaBytes = 1ull << 40;

// Arenas of others that a trainer is asked to open at a time: the rest waits for its answers,
// so that it is not others that fill its socket (some 200 packets by Linux' default).
inline constexpr size_t kMaxPeerArenasOut = 32;

}  // namespace reigen::worker::limits

#endif  // REIGEN_WORKER_LIMITS_H_
