// Bounds of what the coordinator takes, each with its reason. What a worker sends
// is input: beyond a bound its stream ends with an error, never this process.
#ifndef REIGEN_COORDINATOR_LIMITS_H_
#define REIGEN_COORDINATOR_LIMITS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "proto/local/local.h"

namespace reigen::coordinator {

// One stream and one entry in every Plan per host.
inline constexpr size_t kMaxHosts = 4096;
inline constexpr size_t kMaxRanks = 65536;

// A trainer's own bounds: a worker cannot honestly send more.
inline constexpr size_t kMaxNameBytes = local::kMaxNameBytes;
inline constexpr size_t kMaxGroupTensors = local::kMaxGroupTensors;
inline constexpr size_t kMaxDims = local::kMaxDims;

// Names with an id in an epoch. Models have thousands; auto-numbered names have no
// end: what comes after these travels as plain strings.
inline constexpr uint32_t kMaxNames = 65536;

// Requests that some host announced and others did not: as many as the names that
// one session may have in use, times four.
inline constexpr size_t kMaxPending = 4 * size_t{local::kMaxNames};

// Elements of a tensor: sums of byte counts stay far from the end of 64 bits.
inline constexpr uint64_t kMaxTensorElements = uint64_t{1} << 48;

// Tensors of one bucket: keeps a Plan message around a MiB.
inline constexpr size_t kMaxBucketTensors = 4096;
// Entries are sent in messages of about this size, so that workers start the first
// plans while the rest travels.
inline constexpr size_t kEntriesMessageBytes = size_t{1} << 20;

// Of a heartbeat's list; the rest is not looked at.
inline constexpr int kMaxWaitingPerHost = 4096;
// Lines of a stall report; the rest is counted.
inline constexpr size_t kMaxStallLines = 100;
// Of the table of links between hosts; the rest is counted.
inline constexpr size_t kMaxLinkLines = 28;  // eight hosts
// Of a text that goes into trainers' errors.
inline constexpr size_t kMaxReasonBytes = local::kMaxErrorBytes - 256;

// Of one gRPC message: a ReadyBatch of the largest group in several variants.
inline constexpr int kMaxMessageBytes = 64 << 20;
// Waiting for a worker that does not read; then its stream ends.
inline constexpr size_t kMaxQueuedBytes = size_t{256} << 20;
// Messages of one worker that are not processed yet; then reading pauses.
inline constexpr size_t kMaxUnprocessedMessages = 256;
// Streams that have not proved the secret, and how long they may take for it. Times
// here are multiplied by the job's timeout scale.
inline constexpr size_t kMaxStrangers = 1024;
inline constexpr std::chrono::seconds kHandshakeTime{5};

// Between the failure of stalled requests and the end of the job: trainers raise
// the error and end by themselves.
inline constexpr std::chrono::seconds kStallGrace{1};

// Workers that are still connected this long after the End are left to their guards:
// this process is gone within the ten seconds that a job may take to vanish.
inline constexpr std::chrono::seconds kEndTime{8};

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_LIMITS_H_
