#include "runtime/transport/rdma/testing/fake_gpu_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/check.h"

namespace reigen::transport::rdma {

FakeGpuMemory::FakeGpuMemory(size_t bytes)
    : size_(bytes), fd_(memfd_create("gpu", MFD_CLOEXEC)) {
  REIGEN_CHECK(fd_.valid() && ftruncate(fd_.get(), static_cast<off_t>(bytes)) == 0, "a memfd");
  void* const seen = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  void* const window = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REIGEN_CHECK(seen != MAP_FAILED && window != MAP_FAILED, "mmap");
  bytes_ = static_cast<std::byte*>(seen);
  window_ = static_cast<std::byte*>(window);
}

FakeGpuMemory::~FakeGpuMemory() {
  munmap(bytes_, size_);
  munmap(window_, size_);
}

DeviceMemory FakeGpuMemory::device(bool read_back) const {
  DeviceMemory memory;
  memory.dmabuf = fd_.get();
  memory.memory = window();
  memory.read_back = read_back;
  return memory;
}

}  // namespace reigen::transport::rdma
