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
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/link.h"
#include "runtime/transport/rdma/verbs.h"

namespace reigen::transport::rdma {

// A port of this host, as far as memory is concerned. Ports of one device share it and its
// registrations.
struct MemoryRail {
  std::string name;  // of its device
  std::shared_ptr<Device> device;
  int port = 0;
};

// A region as the rails of this host know it.
struct Registration {
  std::array<uint32_t, kMaxRails> local_keys{};
  std::array<uint32_t, kMaxRails> remote_keys{};
  Rails rails;             // that have it: all of them
  bool device = false;     // memory of a GPU: the CPU does not touch it
  bool read_back = false;  // what was received is read back before it is told
  std::vector<std::shared_ptr<Device>> devices;        // a region may outlive its transport
  std::vector<std::unique_ptr<MemoryRegion>> regions;  // before their devices
};

// Keeps a registration. Held by whoever gave a key to a queue pair or to the peer,
// until that queue pair cannot use it any more (R7).
using MemoryUse = std::shared_ptr<const Registration>;

// All regions of a transport, found by address. The same memory registered twice is
// registered once with the devices. Memory that its owner gave up is not found any
// more, and is deregistered with the last use: never before the fence. Memory of a GPU
// is registered as often as it is asked for; the latest counts.
//
// Threads: one owner.
class Memory {
 public:
  explicit Memory(std::vector<MemoryRail> rails) : rails_(std::move(rails)) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Until the Region is destroyed, which may be later than this.
  // ResourceExhausted: locked memory; says how much, and what to do.
  StatusOr<std::unique_ptr<Region>> Register(std::span<std::byte> memory, Access access);
  // Whether the device of a rail reaches memory that it has registered under this key.
  using TryRail = std::function<Status(size_t rail, uint32_t remote_key)>;
  // With every rail or, if one refuses or fails `try_rail`, with none: the error says which
  // and why, with the code of the first one that is not Unimplemented.
  StatusOr<std::unique_ptr<Region>> RegisterDevice(const DeviceMemory& memory, Access access,
                                                   const TryRail& try_rail);

  // Null: no region covers it.
  MemoryUse Find(std::span<const std::byte> data) const;
  // Whether the CPU may touch it. Once there was memory of a GPU, what is not registered
  // might have been that.
  bool IsHosts(std::span<const std::byte> data) const {
    return !had_device_ || data.empty() || FindHosts(data);
  }

 private:
  using Start = const std::byte*;
  struct Entry {
    size_t bytes = 0;
    size_t owners = 0;
    MemoryUse use;
  };
  using Entries = std::multimap<Start, Entry>;
  class OwnedRegion;

  // The first rail of the same device.
  size_t FirstOf(size_t rail) const;
  std::unique_ptr<Region> Enter(std::span<std::byte> memory, MemoryUse use);
  bool FindHosts(std::span<const std::byte> data) const;

  const std::vector<MemoryRail> rails_;
  bool had_device_ = false;
  std::shared_ptr<Entries> entries_ = std::make_shared<Entries>();
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_MEMORY_H_
