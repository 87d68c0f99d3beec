#include "runtime/transport/rdma/memory.h"

#include <algorithm>
#include <utility>

#include "runtime/transport/rdma/words.h"

namespace reigen::transport::rdma {
namespace {

void Take(Registration& registration, const MemoryRail& rail, size_t index,
          std::unique_ptr<MemoryRegion> region) {
  registration.local_keys[index] = region->local_key();
  registration.remote_keys[index] = region->remote_key();
  registration.rails.registered |= static_cast<uint8_t>(1u << index);
  registration.devices.push_back(rail.device);
  registration.regions.push_back(std::move(region));
}

void Share(Registration& registration, size_t from, size_t index) {
  registration.local_keys[index] = registration.local_keys[from];
  registration.remote_keys[index] = registration.remote_keys[from];
  registration.rails.registered |= static_cast<uint8_t>(1u << index);
}

}  // namespace

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
  if (memory.empty()) return std::make_unique<Region>();
  const auto [first, last] = entries_->equal_range(memory.data());
  for (auto at = first; at != last; ++at) {
    if (at->second.bytes == memory.size() && !at->second.use->device) {
      return std::unique_ptr<Region>(new OwnedRegion(entries_, at));
    }
  }
  auto registration = std::make_shared<Registration>();
  for (size_t i = 0; i < rails_.size(); ++i) {
    if (const size_t first = FirstOf(i); first != i) {
      Share(*registration, first, i);
      continue;
    }
    auto region = rails_[i].device->Register(memory, access);
    if (!region.ok()) {
      return DescribeRegistration(region.status(), ReadLockedMemory(), memory.size());
    }
    Take(*registration, rails_[i], i, std::move(region).value());
  }
  registration->rails.near = registration->rails.registered;
  return Enter(memory, std::move(registration));
}

StatusOr<std::unique_ptr<Region>> Memory::RegisterDevice(const DeviceMemory& memory,
                                                         Access access,
                                                         const TryRail& try_rail) {
  if (memory.memory.empty()) return std::make_unique<Region>();
  const auto address = reinterpret_cast<uint64_t>(memory.memory.data());
  auto registration = std::make_shared<Registration>();
  registration->device = true;
  registration->read_back = memory.read_back;
  StatusCode code = StatusCode::kUnimplemented;
  std::string reasons;
  bool taken = false;  // by one at least
  const auto refuse = [&](const std::string& name, const Status& status) {
    if (code == StatusCode::kUnimplemented) code = status.code();
    reasons += (reasons.empty() ? "" : "; ") + name + ": " + Message(status);
  };
  for (size_t i = 0; i < rails_.size(); ++i) {
    const size_t first = FirstOf(i);
    if (first != i) {
      if ((registration->rails.registered >> first & 1) == 0) continue;  // its reason is told
      Share(*registration, first, i);
    } else if (auto region = rails_[i].device->RegisterDmabuf(
                   memory.dmabuf, memory.offset, memory.memory.size(), address, access);
               region.ok()) {
      Take(*registration, rails_[i], i, std::move(region).value());
    } else {
      refuse(rails_[i].name, region.status());
      continue;
    }
    if (const Status tried = try_rail(i, registration->remote_keys[i]); !tried.ok()) {
      refuse(rails_[i].name + ":" + std::to_string(rails_[i].port), tried);
    } else {
      taken = true;
    }
    const bool near = std::find(memory.near.begin(), memory.near.end(), rails_[i].name) !=
                      memory.near.end();
    if (near) registration->rails.near |= static_cast<uint8_t>(1u << i);
  }
  if (!reasons.empty()) {
    if (taken) {
      reasons += "; the other RDMA ports take it: --rdma-devices can name these alone";
    }
    return MakeStatus(code, reasons);
  }
  Rails& rails = registration->rails;
  if (rails.near == 0) rails.near = rails.registered;
  had_device_ = true;
  return Enter(memory.memory, std::move(registration));
}

size_t Memory::FirstOf(size_t rail) const {
  size_t first = 0;
  while (rails_[first].device != rails_[rail].device) ++first;
  return first;
}

std::unique_ptr<Region> Memory::Enter(std::span<std::byte> memory, MemoryUse use) {
  Entry entry;
  entry.bytes = memory.size();
  entry.use = std::move(use);
  return std::make_unique<OwnedRegion>(entries_,
                                       entries_->emplace(memory.data(), std::move(entry)));
}

MemoryUse Memory::Find(std::span<const std::byte> data) const {
  // Regions hardly ever overlap: the nearest that begins before is the one.
  for (auto at = entries_->upper_bound(data.data()); at != entries_->begin();) {
    --at;
    if (data.data() + data.size() <= at->first + at->second.bytes) return at->second.use;
  }
  return nullptr;
}

bool Memory::FindHosts(std::span<const std::byte> data) const {
  const MemoryUse use = Find(data);
  return use != nullptr && !use->device;
}

}  // namespace reigen::transport::rdma
