// For device*.cc: a device's context in the calling thread.
#ifndef REIGEN_CLIENT_CUDA_CURRENT_H_
#define REIGEN_CLIENT_CUDA_CURRENT_H_

#include "client/c/result.h"
#include "client/cuda/device.h"
#include "client/cuda/driver_api.h"

namespace reigen::sdk::cuda {

// Pops what it pushed: the caller's own current context stays as it was. Meanwhile, the
// thread's calls do not disturb the capture of a graph by another one.
class Device::Current {
 public:
  explicit Current(Device& device) : api_(device.api_) {
    result_ = device.lost();
    if (!result_.ok()) return;
    result_ = device.CheckWork("cuCtxPushCurrent", api_.push_context(device.context_));
    pushed_ = result_.ok();
    if (pushed_) api_.exchange_capture_mode(&capture_mode_);
  }
  ~Current() {
    if (!pushed_) return;
    api_.exchange_capture_mode(&capture_mode_);
    CuContext popped = nullptr;
    api_.pop_context(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  const Result& result() const { return result_; }

 private:
  const DriverApi& api_;
  Result result_;
  bool pushed_ = false;
  int capture_mode_ = kCuCaptureModeRelaxed;  // the other one: of this, of the caller
};

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_CURRENT_H_
