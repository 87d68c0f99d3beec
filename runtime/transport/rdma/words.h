// What goes wrong with RDMA, in words that say what to do. Pure.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_WORDS_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/transport/rdma/verbs_types.h"

namespace reigen::transport::rdma {

// A lost path: the peer or the way to it has gone. All else is a bug, here or there.
bool IsLostPath(WorkStatus status);

const char* Name(WorkStatus status);  // "RETRY_EXC_ERR"

// What some devices say instead when a port goes down under a queue pair. All other statuses
// prove a fault of a program, whatever has become of the port.
bool MayBeOfADeadPort(WorkStatus status);

// One work request that ended badly: Unavailable for a lost path, Internal for a bug.
// `retried`: how long what got no answer was sent again. `port_down`: that its port went down,
// if so (Rail::WentDown): then the path has gone, unless the status says otherwise.
Status DescribeCompletion(const WorkCompletion& completion, const std::string& operation,
                          Duration retried, const std::string& port_down);

// What was sent has had no answer for so long, and no error either.
Status DescribeSilence(Duration silent, const std::string& port_down);

// Limit of locked memory of this process.
struct LockedMemory {
  uint64_t limit_bytes = 0;
  bool unlimited = false;  // by the limit or by the right CAP_IPC_LOCK
};
LockedMemory ReadLockedMemory();

// "raise it: ...", for a shell, a login, a unit and a container.
extern const char kHowToRaiseLockedMemory[];

// What a device locks for queues, at most: a completion queue; the rings of a queue pair.
// Sizes are those of common cards, rounded up to powers of two and whole pages.
uint64_t LockedBytesOfCompletions(uint32_t entries);
uint64_t LockedBytesOfRings(uint32_t sends, uint32_t receives);

// What a host locks, at most: what it registers, with each device, and for each link its
// control queue and its queues for data, of which each device has one at least.
inline constexpr size_t kUsualQueues = 2;
uint64_t LockedBytes(uint64_t registered_bytes, size_t devices, size_t links,
                     size_t queues = kUsualQueues);

// Ok, or ResourceExhausted: what the limit is, what is needed, how to raise it.
Status CheckLockedMemory(const LockedMemory& allowed, uint64_t needed_bytes);

// A dma-buf that could not be registered, by the error number. Unimplemented: the device,
// kernel or library cannot (EOPNOTSUPP, EPROTONOSUPPORT, ENOSYS); ResourceExhausted:
// ENOMEM; InvalidArgument: the dma-buf or the range is not taken (EINVAL, EFAULT, EBADF).
Status DescribeDmabuf(int error, uint64_t bytes);

// A registration, or a queue, that failed with "out of memory": nearly always the limit.
Status DescribeRegistration(const Status& failed, const LockedMemory& allowed, uint64_t bytes);

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_WORDS_H_
