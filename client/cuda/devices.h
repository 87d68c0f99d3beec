// The GPUs that this process can see, opened at their first use.
//
// Threads: any.
// Errors:  no driver, no such device: FailedPrecondition or InvalidArgument with the
//          reason, each time; everything without a GPU goes on.
#ifndef REIGEN_CLIENT_CUDA_DEVICES_H_
#define REIGEN_CLIENT_CUDA_DEVICES_H_

#include <map>
#include <memory>
#include <mutex>

#include "client/c/result.h"
#include "client/cuda/device.h"
#include "client/cuda/driver_api.h"

namespace reigen::sdk::cuda {

class Devices {
 public:
  Result Get(int ordinal, std::shared_ptr<Device>* out);
  // The device that the memory is on. Address 0 is on the first.
  Result OrdinalOf(CuAddress address, int* ordinal);

 private:
  Result LoadOnceLocked();
  Result LoadLocked();

  std::mutex mutex_;  // of what follows
  bool loaded_ = false;
  Result load_result_;
  DriverApi api_;
  int count_ = 0;
  std::map<int, std::shared_ptr<Device>> open_;
};

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_DEVICES_H_
