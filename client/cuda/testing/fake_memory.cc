#include "client/cuda/testing/fake_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "client/cuda/testing/fake_knobs.h"

namespace reigen::fake_cuda {
namespace {

constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kInvalidContext = 201;
constexpr int kMapFailed = 205;
constexpr int kPeerAccessUnsupported = 217;
constexpr int kInvalidHandle = 400;
constexpr int kAlreadyRegistered = 712;
constexpr int kNotRegistered = 713;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kGranule = uint64_t{2} << 20;
constexpr uint64_t kMagic = 0x7570672d656b6166;

struct Handle {
  uint64_t magic;
  uint64_t serial;
  uint64_t bytes;
  int32_t process;
  int32_t fd;
  int32_t physical;
  int32_t reserved[7];
};
static_assert(sizeof(Handle) == kHandleBytes);

void* At(uint64_t address) { return reinterpret_cast<void*>(address); }

std::string NameOf(uint64_t serial) { return "reigen-fake-gpu-" + std::to_string(serial); }

// A place for a mapping at a granule's begin, taken; 0: none.
uint64_t Reserve(uint64_t bytes) {
  void* const all =
      mmap(nullptr, bytes + kGranule, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return 0;
  const auto begin = reinterpret_cast<uint64_t>(all);
  const uint64_t aligned = (begin + kGranule - 1) / kGranule * kGranule;
  if (aligned > begin) munmap(all, aligned - begin);
  munmap(At(aligned + bytes), begin + kGranule - aligned);
  return aligned;
}

// The memfd that a handle names, or -1: its owner has freed it, or is gone.
int OpenMemfd(const Handle& handle) {
  const std::string path =
      "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.fd);
  std::array<char, 128> name{};
  const ssize_t length = readlink(path.c_str(), name.data(), name.size() - 1);
  const std::string expected = "/memfd:" + NameOf(handle.serial) + " (deleted)";
  if (length < 0 || expected != name.data()) return -1;
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

}  // namespace

// Takes no part in the ownership of fd. 0: there is no room.
uint64_t Memory::AddMapped(int fd, Entry entry) {
  const uint64_t address = Reserve(entry.bytes);
  if (address == 0) return 0;
  if (fd >= 0 && mmap(At(address), entry.bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, 0) ==
                     MAP_FAILED) {
    munmap(At(address), entry.bytes);
    return 0;
  }
  entries_[address] = entry;
  return address;
}

int Memory::Allocate(size_t bytes, int device, uint64_t* address) {
  if (bytes == 0) return kInvalidValue;
  Entry entry{.bytes = (bytes + kPage - 1) / kPage * kPage, .device = device};
  if (bytes % kGranule == 0) {
    entry.serial = ++last_serial_;
    entry.fd = memfd_create(NameOf(entry.serial).c_str(), MFD_CLOEXEC);
    if (entry.fd < 0) return kOutOfMemory;
    if (ftruncate(entry.fd, static_cast<off_t>(bytes)) != 0) {
      close(entry.fd);
      return kOutOfMemory;
    }
  }
  *address = AddMapped(entry.fd, entry);
  if (*address != 0) return 0;
  if (entry.fd >= 0) close(entry.fd);
  return kOutOfMemory;
}

int Memory::Free(uint64_t address) {
  const auto found = entries_.find(address);
  if (found == entries_.end() || found->second.kind != Kind::kOwn) return kInvalidValue;
  munmap(At(address), found->second.bytes);
  if (found->second.fd >= 0) close(found->second.fd);
  entries_.erase(found);
  return 0;
}

int Memory::ExportHandle(uint64_t address, unsigned char* handle) const {
  const auto found = entries_.find(address);
  if (found == entries_.end() || found->second.fd < 0) return kInvalidValue;
  const Handle exported{.magic = kMagic, .serial = found->second.serial,
                        .bytes = found->second.bytes, .process = getpid(),
                        .fd = found->second.fd, .physical = PhysicalDevice(found->second.device),
                        .reserved = {}};
  std::memcpy(handle, &exported, sizeof exported);
  return 0;
}

int Memory::Open(const unsigned char* bytes, int device, uint64_t* address) {
  Handle handle;
  std::memcpy(&handle, bytes, sizeof handle);
  if (handle.magic != kMagic) return kInvalidHandle;
  if (handle.process == getpid()) return kInvalidContext;
  if (handle.physical != PhysicalDevice(device) && !HasPeerAccess()) return kPeerAccessUnsupported;
  for (auto& [at, entry] : entries_) {
    if (entry.kind != Kind::kOpened || entry.owner != handle.process ||
        entry.serial != handle.serial || entry.device != device) {
      continue;
    }
    ++entry.uses;
    *address = at;
    return 0;
  }
  const int fd = OpenMemfd(handle);
  if (fd < 0) return kMapFailed;
  const bool is_peer = handle.physical != PhysicalDevice(device);
  // Without the memfd there are zeros.
  const int memory = is_peer && LosesPeer("reads") ? -1 : fd;
  *address = AddMapped(memory, {.kind = Kind::kOpened, .bytes = handle.bytes, .device = device,
                                .serial = handle.serial, .owner = handle.process,
                                .loses_writes = is_peer && LosesPeer("writes")});
  close(fd);
  return *address != 0 ? 0 : kMapFailed;
}

int Memory::Close(uint64_t address) {
  const auto found = entries_.find(address);
  if (found == entries_.end() || found->second.kind != Kind::kOpened) return kInvalidValue;
  if (--found->second.uses > 0) return 0;
  munmap(At(address), found->second.bytes);
  entries_.erase(found);
  return 0;
}

int Memory::ExportDmabuf(uint64_t address, size_t bytes, int* fd) const {
  const auto found = entries_.find(address);
  if (found == entries_.end() || found->second.fd < 0 || bytes != found->second.bytes) {
    return kInvalidValue;
  }
  *fd = dup(found->second.fd);
  return *fd >= 0 ? 0 : kOutOfMemory;
}

int Memory::Register(void* memory, size_t bytes, bool maps) {
  if (memory == nullptr || bytes == 0) return kInvalidValue;
  if (Registered(memory)) return kAlreadyRegistered;
  registered_[reinterpret_cast<uint64_t>(memory)] = {.bytes = bytes, .maps = maps};
  return 0;
}

int Memory::Unregister(void* memory) {
  const auto found = registered_.find(reinterpret_cast<uint64_t>(memory));
  if (found == registered_.end()) return kNotRegistered;
  const Registration& registration = found->second;
  if (registration.address != 0) {
    entries_.erase(registration.address);
    if (registration.address != found->first) {
      munmap(At(registration.address), registration.bytes);
    }
  }
  registered_.erase(found);
  return 0;
}

bool Memory::Registered(const void* memory) const {
  const auto address = reinterpret_cast<uint64_t>(memory);
  const auto found = registered_.upper_bound(address);
  if (found == registered_.begin()) return false;
  const auto& [begin, registration] = *std::prev(found);
  return address - begin < registration.bytes;
}

int Memory::HostAddress(void* memory, uint64_t* address) {
  const auto found = registered_.find(reinterpret_cast<uint64_t>(memory));
  if (found == registered_.end() || !found->second.maps) return kInvalidValue;
  Registration& registration = found->second;
  if (registration.address == 0) {
    // Of shared mappings alone there can be a second one.
    void* const second = mremap(memory, 0, registration.bytes, MREMAP_MAYMOVE);
    registration.address =
        second != MAP_FAILED ? reinterpret_cast<uint64_t>(second) : found->first;
    if (second != MAP_FAILED) mprotect(second, registration.bytes, PROT_NONE);
    entries_[registration.address] = {.kind = Kind::kHost, .bytes = registration.bytes,
                                      .device = kAnyDevice};
  }
  *address = registration.address;
  return 0;
}

const Memory::Entry* Memory::Find(Range range) const {
  const auto after = entries_.upper_bound(range.address);
  if (after == entries_.begin()) return nullptr;
  const auto& [begin, entry] = *std::prev(after);
  const uint64_t into = range.address - begin;
  return into <= entry.bytes && range.bytes <= entry.bytes - into ? &entry : nullptr;
}

bool Memory::OnDevice(Range range) const {
  const Entry* const entry = Find(range);
  return entry != nullptr && entry->kind != Kind::kHost;
}

int Memory::DeviceOf(uint64_t address) const {
  return Find({.address = address, .bytes = 1})->device;
}

bool Memory::Reaches(int device, Range range) const {
  const Entry* const entry = Find(range);
  return entry != nullptr &&
         (device == kAnyDevice || entry->device == kAnyDevice || entry->device == device);
}

bool Memory::Touch(int device, std::span<const Range> ranges, const std::function<void()>& work) {
  for (const Range& range : ranges) {
    if (!Reaches(device, range)) return false;
  }
  const auto protect = [&](int how) {
    for (const Range& range : ranges) {
      const auto entry = std::prev(entries_.upper_bound(range.address));
      const bool shares_pages = entry->second.kind == Kind::kHost &&
                                registered_.contains(entry->first);
      if (shares_pages) continue;
      const uint64_t begin = range.address / kPage * kPage;
      mprotect(At(begin), range.address + range.bytes - begin, how);
    }
  };
  protect(PROT_READ | PROT_WRITE);
  Run(ranges, work);
  protect(PROT_NONE);
  return true;
}

void Memory::Run(std::span<const Range> ranges, const std::function<void()>& work) const {
  std::vector<std::pair<void*, std::string>> kept;
  for (const Range& range : ranges) {
    if (!Find(range)->loses_writes) continue;
    kept.emplace_back(At(range.address),
                      std::string(static_cast<const char*>(At(range.address)), range.bytes));
  }
  work();
  for (const auto& [memory, bytes] : kept) std::memcpy(memory, bytes.data(), bytes.size());
}

}  // namespace reigen::fake_cuda
