// The GPUs that this process can see, opened at their first use.
//
// Threads: any.
// Errors:  no driver, no such device: FailedPrecondition or InvalidArgument with the
//          reason, each time; everything without a GPU goes on.
#ifndef REIGEN_CLIENT_CUDA_DEVICES_H_
#define REIGEN_CLIENT_CUDA_DEVICES_H_

#include <map>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "client/c/result.h"
#include "client/cuda/device.h"
#include "client/cuda/driver_api.h"
#include "runtime/base/clock.h"

namespace reigen::sdk::cuda {

class Devices {
 public:
  // Of each device; the driver is not in them yet.
  // `started` is called once, when the driver is.
  explicit Devices(DeviceOptions options, std::function<void()> started = [] {})
      : started_(std::move(started)), options_(std::move(options)) {}
  // For devices that are opened from now on. `no_kernels`: why there shall be none, or
  // empty.
  void Configure(Duration wait_limit, const std::string& no_kernels);

  Result Get(int ordinal, std::shared_ptr<Device>* out);
  // The device that the memory is on. Address 0 is on the first.
  Result OrdinalOf(CuAddress address, int* ordinal);

 private:
  Result LoadOnceLocked();
  Result LoadLocked();

  const std::function<void()> started_;
  std::mutex mutex_;  // of what follows
  DeviceOptions options_;
  bool loaded_ = false;
  Result load_result_;
  DriverApi api_;
  int count_ = 0;
  std::map<int, std::shared_ptr<Device>> open_;
};

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_DEVICES_H_
