#include "client/cuda/errors.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace reigen::sdk::cuda {
namespace {

constexpr CuResult kOutOfMemory = 2;
// Those of which cuda.h says that the process must be started anew, and those that end the
// context.
constexpr CuResult kSticky[] = {
    214,  // uncorrectable ECC error
    220,  // uncorrectable NVLink error
    226,  // contained
    kCuIllegalAddress,
    702,  // launch timeout
    709,  // context destroyed
    710,  // assert
    714,  // hardware stack error
    715,  // illegal instruction
    716,  // misaligned address
    717,  // invalid address space
    718,  // invalid pc
    719,  // launch failed
    721,  // tensor memory leak
    810,  // MPS client terminated
    911,  // external device
};

}  // namespace

bool IsSticky(CuResult code) {
  return std::find(std::begin(kSticky), std::end(kSticky), code) != std::end(kSticky);
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
