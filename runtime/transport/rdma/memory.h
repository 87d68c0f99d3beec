// Registrations: made once for each region, for as long as anything needs them.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_MEMORY_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/link.h"
#include "runtime/transport/rdma/verbs.h"

namespace reigen::transport::rdma {

// A region as every rail of this host knows it.
struct Registration {
  std::array<uint32_t, kMaxRails> local_keys{};
  std::array<uint32_t, kMaxRails> remote_keys{};
  std::vector<std::shared_ptr<Device>> rails;  // a region may outlive its transport
  std::vector<std::unique_ptr<MemoryRegion>> regions;  // by rail
};

// Keeps a registration. Held by whoever gave a key to a queue pair or to the peer,
// until that queue pair cannot use it any more (R7).
using MemoryUse = std::shared_ptr<const Registration>;

// All regions of a transport, found by address. The same memory registered twice is
// registered once with the devices. Memory that its owner gave up is not found any
// more, and is deregistered with the last use: never before the fence.
//
// Threads: one owner.
class Memory {
 public:
  explicit Memory(std::vector<std::shared_ptr<Device>> rails) : rails_(std::move(rails)) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Until the Region is destroyed, which may be later than this.
  // ResourceExhausted: locked memory; says how much, and what to do.
  StatusOr<std::unique_ptr<Region>> Register(std::span<std::byte> memory, Access access);
  // A dma-buf that stands for `memory`, which this process need not have mapped.
  StatusOr<std::unique_ptr<Region>> RegisterDmabuf(int fd, uint64_t offset,
                                                   std::span<std::byte> memory, Access access);

  // Null: no region covers it.
  MemoryUse Find(std::span<const std::byte> data) const;

 private:
  using Start = const std::byte*;
  struct Entry {
    size_t bytes = 0;
    size_t owners = 0;
    MemoryUse use;
  };
  using Entries = std::multimap<Start, Entry>;
  class OwnedRegion;
  using Register1 = std::function<StatusOr<std::unique_ptr<MemoryRegion>>(Device&)>;

  StatusOr<std::unique_ptr<Region>> Add(std::span<std::byte> memory, const Register1& register1);

  const std::vector<std::shared_ptr<Device>> rails_;
  std::shared_ptr<Entries> entries_ = std::make_shared<Entries>();
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_MEMORY_H_
