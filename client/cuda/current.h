// For device*.cc: a device's context in the calling thread.
#ifndef REIGEN_CLIENT_CUDA_CURRENT_H_
#define REIGEN_CLIENT_CUDA_CURRENT_H_

#include "client/c/result.h"
#include "client/cuda/device.h"
#include "client/cuda/driver_api.h"

namespace reigen::sdk::cuda {

// Pops what it pushed: the caller's own current context stays as it was.
class Device::Current {
 public:
  explicit Current(Device& device) : api_(device.api_) {
    result_ = device.lost();
    if (!result_.ok()) return;
    result_ = device.Check("cuCtxPushCurrent", api_.push_context(device.context_));
    pushed_ = result_.ok();
  }
  ~Current() {
    CuContext popped = nullptr;
    if (pushed_) api_.pop_context(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  const Result& result() const { return result_; }

 private:
  const DriverApi& api_;
  Result result_;
  bool pushed_ = false;
};

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_CURRENT_H_
