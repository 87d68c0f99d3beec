// Memory of a GPU, as tests over the fake verbs have it.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_TESTING_FAKE_GPU_MEMORY_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_TESTING_FAKE_GPU_MEMORY_H_

#include <cstddef>
#include <span>

#include "runtime/base/unique_fd.h"
#include "runtime/transport/link.h"

namespace reigen::transport::rdma {

// Bytes in a memfd, which stands for the dma-buf; and a window of addresses for posts,
// which nobody may touch.
class FakeGpuMemory {
 public:
  explicit FakeGpuMemory(size_t bytes);
  FakeGpuMemory(const FakeGpuMemory&) = delete;
  FakeGpuMemory& operator=(const FakeGpuMemory&) = delete;
  ~FakeGpuMemory();

  DeviceMemory device(bool read_back = true) const;
  void CloseDmabuf() { fd_.Reset(); }  // its owner may, once it is registered
  std::span<std::byte> bytes() const { return {bytes_, size_}; }    // as the GPU sees them
  std::span<std::byte> window() const { return {window_, size_}; }  // for posts

 private:
  const size_t size_;
  UniqueFd fd_;
  std::byte* bytes_ = nullptr;
  std::byte* window_ = nullptr;
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_TESTING_FAKE_GPU_MEMORY_H_
