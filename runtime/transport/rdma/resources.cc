#include "runtime/transport/rdma/resources.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/transport/rdma/words.h"

namespace reigen::transport::rdma {

StatusOr<std::unique_ptr<CompletionQueue>> MakeCompletionQueue(Rail& rail, uint32_t entries) {
  auto queue = rail.device().CreateCompletionQueue(entries);
  if (queue.ok()) return queue;
  return DescribeRegistration(queue.status(), ReadLockedMemory(),
                              LockedBytesOfCompletions(entries));
}

StatusOr<std::unique_ptr<QueuePair>> MakeQueuePair(Rail& rail, CompletionQueue* queue,
                                                   const QpLimits& limits) {
  const RailChoice& choice = rail.choice();
  auto pair =
      rail.device().CreateQueuePair(queue, limits, choice.port.number, choice.pkey_index);
  if (pair.ok()) return pair;
  return DescribeRegistration(pair.status(), ReadLockedMemory(),
                              LockedBytesOfRings(limits.send_wrs, limits.receive_wrs));
}

bool IsOf(const AsyncEvent& event, const QueuePair& pair, const CompletionQueue& completions) {
  switch (event.kind) {
    case AsyncKind::kDeviceFatal:
      return true;
    case AsyncKind::kCqError:
      return event.cq_number == completions.number();
    case AsyncKind::kQpFatal:
    case AsyncKind::kQpError:
      return event.qp_number == pair.number();
    default:
      return false;  // of a port: the retry budget decides whether the path is lost
  }
}

void Unmap::operator()(std::byte* pages) const { munmap(pages, bytes); }

StatusOr<Pages> MakePages(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t whole = (bytes + page - 1) / page * page;
  void* const at =
      mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return ErrnoStatus(StatusCode::kResourceExhausted, "mmap", errno);
  return Pages(static_cast<std::byte*>(at), Unmap{whole});
}

StatusOr<std::unique_ptr<MemoryRegion>> RegisterOwn(Rail& rail, std::span<std::byte> memory) {
  auto region = rail.device().Register(memory, Access::kLocal);
  if (region.ok()) return region;
  return DescribeRegistration(region.status(), ReadLockedMemory(), memory.size());
}

}  // namespace reigen::transport::rdma
