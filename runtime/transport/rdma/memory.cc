#include "runtime/transport/rdma/memory.h"

#include <utility>

#include "runtime/transport/rdma/words.h"

namespace reigen::transport::rdma {

// One owner of an entry.
class Memory::OwnedRegion final : public Region {
 public:
  OwnedRegion(std::shared_ptr<Entries> entries, Entries::iterator at)
      : entries_(std::move(entries)), at_(at) {
    ++at_->second.owners;
  }
  ~OwnedRegion() override {
    if (--at_->second.owners == 0) entries_->erase(at_);
  }

 private:
  const std::shared_ptr<Entries> entries_;
  const Entries::iterator at_;
};

StatusOr<std::unique_ptr<Region>> Memory::Register(std::span<std::byte> memory, Access access) {
  return Add(memory, [&](Device& rail) { return rail.Register(memory, access); });
}

StatusOr<std::unique_ptr<Region>> Memory::RegisterDmabuf(int fd, uint64_t offset,
                                                         std::span<std::byte> memory,
                                                         Access access) {
  const auto address = reinterpret_cast<uint64_t>(memory.data());
  return Add(memory, [&](Device& rail) {
    return rail.RegisterDmabuf(fd, offset, memory.size(), address, access);
  });
}

StatusOr<std::unique_ptr<Region>> Memory::Add(std::span<std::byte> memory,
                                              const Register1& register1) {
  if (memory.empty()) return std::make_unique<Region>();
  const auto [first, last] = entries_->equal_range(memory.data());
  for (auto at = first; at != last; ++at) {
    if (at->second.bytes == memory.size()) {
      return std::unique_ptr<Region>(new OwnedRegion(entries_, at));
    }
  }
  auto registration = std::make_shared<Registration>();
  registration->rails = rails_;
  for (size_t i = 0; i < rails_.size(); ++i) {
    auto region = register1(*rails_[i]);
    if (!region.ok()) {
      return DescribeRegistration(region.status(), ReadLockedMemory(), memory.size());
    }
    registration->local_keys[i] = (*region)->local_key();
    registration->remote_keys[i] = (*region)->remote_key();
    registration->regions.push_back(std::move(region).value());
  }
  Entry entry;
  entry.bytes = memory.size();
  entry.use = std::move(registration);
  return std::unique_ptr<Region>(
      new OwnedRegion(entries_, entries_->emplace(memory.data(), std::move(entry))));
}

MemoryUse Memory::Find(std::span<const std::byte> data) const {
  // Regions hardly ever overlap: the nearest that begins before is the one.
  for (auto at = entries_->upper_bound(data.data()); at != entries_->begin();) {
    --at;
    if (data.data() + data.size() <= at->first + at->second.bytes) return at->second.use;
  }
  return nullptr;
}

}  // namespace reigen::transport::rdma
