#include "client/cuda/devices.h"

#include <string>

#include "client/cuda/errors.h"
#include "client/cuda/load_driver.h"

namespace reigen::sdk::cuda {

void Devices::Configure(Duration wait_limit, const std::string& no_kernels) {
  const std::lock_guard lock(mutex_);
  options_.wait_limit = wait_limit;
  if (no_kernels.empty()) return;
  options_.image = {};
  options_.no_image = no_kernels;
}

Result Devices::LoadLocked() {
  REIGEN_SDK_RETURN_IF_ERROR(LoadDriver(kDriverLibrary, &api_));
  CuResult code = api_.init(0);
  started_();
  if (code == kCuSuccess) code = api_.device_count(&count_);
  if (code == kCuSuccess) return Ok();
  Result failed = FromCuda(api_, 0, "cuInit", code);
  failed.code = REIGEN_FAILED_PRECONDITION;
  return failed;
}

Result Devices::LoadOnceLocked() {
  if (!loaded_) {
    load_result_ = LoadLocked();
    loaded_ = true;
  }
  return load_result_;
}

Result Devices::OrdinalOf(CuAddress address, int* ordinal) {
  const std::lock_guard lock(mutex_);
  REIGEN_SDK_RETURN_IF_ERROR(LoadOnceLocked());
  *ordinal = 0;
  if (address == 0) return Ok();
  const CuResult code = api_.pointer_attribute(ordinal, kCuPointerDeviceOrdinal, address);
  if (code == kCuSuccess) return Ok();
  Result failed = FromCuda(api_, 0, "cuPointerGetAttribute", code);
  if (IsSticky(code)) return failed;
  return Invalid("no memory of a CUDA device: " + failed.text);
}

Result Devices::Get(int ordinal, std::shared_ptr<Device>* out) {
  const std::lock_guard lock(mutex_);
  REIGEN_SDK_RETURN_IF_ERROR(LoadOnceLocked());
  if (ordinal < 0 || ordinal >= count_) {
    return Invalid("no CUDA device " + std::to_string(ordinal) + ": this process sees " +
                   std::to_string(count_) + " (CUDA_VISIBLE_DEVICES)");
  }
  std::shared_ptr<Device>& device = open_[ordinal];
  if (device == nullptr) {
    options_.api = &api_;
    REIGEN_SDK_RETURN_IF_ERROR(Device::Open(options_, ordinal, &device));
  }
  *out = device;
  return Ok();
}

}  // namespace reigen::sdk::cuda
