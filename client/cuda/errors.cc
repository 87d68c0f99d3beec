#include "client/cuda/errors.h"

#include <string>

namespace reigen::sdk::cuda {
namespace {

constexpr CuResult kOutOfMemory = 2;
constexpr CuResult kEccUncorrectable = 214;
constexpr CuResult kLaunchTimeout = 702;
constexpr CuResult kContextDestroyed = 709;
constexpr CuResult kAssert = 710;
// 714 hardware stack error, 715 illegal instruction, 716 misaligned address,
// 717 invalid address space, 718 invalid pc, 719 launch failed.
constexpr CuResult kFirstFault = 714;
constexpr CuResult kLastFault = 719;

}  // namespace

bool IsSticky(CuResult code) {
  return code == kEccUncorrectable || code == kCuIllegalAddress || code == kLaunchTimeout ||
         code == kContextDestroyed || code == kAssert ||
         (code >= kFirstFault && code <= kLastFault);
}

Result FromCuda(const DriverApi& api, int device, const char* call, CuResult code) {
  if (code == kCuSuccess) return Ok();
  const char* name = nullptr;
  const char* text = nullptr;
  std::string what = std::to_string(code);
  if (api.error_name(code, &name) == kCuSuccess && name != nullptr) what = name;
  if (api.error_text(code, &text) == kCuSuccess && text != nullptr) {
    what += std::string(" (") + text + ")";
  }
  reigen_status status = REIGEN_INTERNAL;
  if (IsSticky(code)) status = REIGEN_UNAVAILABLE;
  if (code == kOutOfMemory) status = REIGEN_RESOURCE_EXHAUSTED;
  return Fail(status, "CUDA device " + std::to_string(device) + ": " + call + ": " + what);
}

}  // namespace reigen::sdk::cuda
