// Memory on GPUs that other processes may still have open after the session it was for:
// CUDA does not let it be freed before they close it. So it is kept, and the next session
// of this process uses it again. When that has begun, all have closed theirs: of each GPU
// one range goes into it, and the rest is freed, so that no memory is kept beside it.
//
// Threads: any; a leaf lock.
#ifndef REIGEN_CLIENT_C_RANGE_STORE_H_
#define REIGEN_CLIENT_C_RANGE_STORE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "client/cuda/device.h"

namespace reigen::sdk {

class RangeStore {
 public:
  void Keep(std::shared_ptr<cuda::Device> device, std::unique_ptr<cuda::DeviceRange> range);
  // The smallest one of the device with so many bytes; null: there is none.
  std::unique_ptr<cuda::DeviceRange> Take(const cuda::Device& device, uint64_t least_bytes,
                                          uint64_t most_bytes);

  struct Kept {
    std::shared_ptr<cuda::Device> device;
    std::unique_ptr<cuda::DeviceRange> range;
  };
  // A session has begun: all but the largest range of each device with at most so many
  // bytes. For the caller to free: CUDA may wait for the device then.
  std::vector<Kept> TakeSurplus(uint64_t most_bytes);

 private:
  std::mutex mutex_;
  std::vector<Kept> kept_;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_RANGE_STORE_H_
