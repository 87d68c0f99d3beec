// What a link makes for itself at a device. A lack of memory that may be locked, which
// queues of real cards take as well, is said with its remedy.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_RESOURCES_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_RESOURCES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/base/status.h"
#include "runtime/transport/rdma/rail.h"
#include "runtime/transport/rdma/verbs.h"

namespace reigen::transport::rdma {

StatusOr<std::unique_ptr<CompletionQueue>> MakeCompletionQueue(Rail& rail, uint32_t entries);

// On the rail's port, in its partition.
StatusOr<std::unique_ptr<QueuePair>> MakeQueuePair(Rail& rail, CompletionQueue* queue,
                                                   const QpLimits& limits);

// Whether a fatal event of the device on which they were made is theirs.
bool IsOf(const AsyncEvent& event, const QueuePair& pair, const CompletionQueue& completions);

// Memory to be registered: whole pages, for where children do not get what is registered
// (kernels before 5.12), they do not get what else lies in its pages either.
struct Unmap {
  size_t bytes = 0;
  void operator()(std::byte* pages) const;
};
using Pages = std::unique_ptr<std::byte, Unmap>;
StatusOr<Pages> MakePages(size_t bytes);
inline std::span<std::byte> BytesOf(const Pages& pages) {
  return {pages.get(), pages.get_deleter().bytes};
}

// Not relaxed: what is read there must be whole when its completion is seen.
StatusOr<std::unique_ptr<MemoryRegion>> RegisterOwn(Rail& rail, std::span<std::byte> memory);

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_RESOURCES_H_
