// Memory that other processes and RDMA devices have their part in.
#include <fcntl.h>

#include <cstring>
#include <utility>

#include "client/cuda/current.h"
#include "client/cuda/device.h"
#include "runtime/gpudirect/distance.h"

namespace reigen::sdk::cuda {
namespace {

// Smaller allocations share one of this size; multiples of it are alone.
constexpr size_t kGranule = size_t{2} << 20;
// What RDMA devices pin.
constexpr size_t kGpuPage = size_t{64} << 10;

}  // namespace

DeviceRange::~DeviceRange() {
  const Device::Current current(*device_);
  if (current.result().ok()) device_->api_.free(address_);
}

// An attribute that an old driver does not know is 0.
int Device::Attribute(int attribute) {
  int value = 0;
  return api_.device_attribute(&value, attribute, device_) == kCuSuccess ? value : 0;
}

void Device::FindFacts() {
  facts_.capability_major = Attribute(kCuDeviceCapabilityMajor);
  facts_.writes_ordering = Attribute(kCuDeviceWritesOrdering);
  facts_.allows_rdma = Attribute(kCuDeviceAllowsRdma) != 0;
  facts_.exports_dmabuf = Attribute(kCuDeviceExportsDmabuf) != 0;
  char bus_id[32] = "";
  if (api_.device_bus_id(bus_id, sizeof bus_id - 1, device_) == kCuSuccess) {
    facts_.bus_id = gpudirect::NormalBusId(bus_id);
  }
  size_t bytes = 0;
  if (api_.device_memory(&bytes, device_) == kCuSuccess) facts_.total_bytes = bytes;
}

Result Device::AllocateAligned(size_t bytes, CuAddress* address) {
  REIGEN_SDK_RETURN_IF_ERROR(Check("cuMemAlloc", api_.allocate(address, bytes)));
  if (*address % kGpuPage == 0) return Ok();
  api_.free(*address);
  return Fail(REIGEN_UNAVAILABLE, "CUDA device " + std::to_string(ordinal_) +
                                      ": cuMemAlloc: no memory at a page's begin");
}

Result Device::CheckContext(CuAddress memory) {
  CuContext owner = nullptr;
  const CuResult code = api_.pointer_attribute(&owner, kCuPointerContext, memory);
  if (code != kCuSuccess || owner == nullptr || owner == context_) return Ok();
  return Invalid("CUDA device " + std::to_string(ordinal_) + ": its memory is of another context "
                 "than the device's primary one, whose streams alone are known here");
}

Result Device::Allocate(size_t bytes, std::unique_ptr<DeviceRange>* out) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  const size_t rounded = (bytes + kGranule - 1) / kGranule * kGranule;
  CuAddress address = 0;
  REIGEN_SDK_RETURN_IF_ERROR(AllocateAligned(rounded, &address));
  *out = std::make_unique<DeviceRange>(shared_from_this(), address, rounded);
  return Ok();
}

Result Device::ExportIpc(const DeviceRange& range,
                         std::array<uint8_t, kCuIpcHandleBytes>* handle) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  CuIpcHandle exported = {};
  REIGEN_SDK_RETURN_IF_ERROR(
      Check("cuIpcGetMemHandle", api_.ipc_handle(&exported, range.address())));
  std::memcpy(handle->data(), exported.bytes, kCuIpcHandleBytes);
  return Ok();
}

Result Device::OpenIpc(const std::array<uint8_t, kCuIpcHandleBytes>& handle, CuAddress* out) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  CuIpcHandle exported = {};
  std::memcpy(exported.bytes, handle.data(), kCuIpcHandleBytes);
  return Check("cuIpcOpenMemHandle", api_.ipc_open(out, exported, kCuIpcLazyEnablePeerAccess));
}

void Device::CloseIpc(CuAddress address) {
  const Current current(*this);
  if (current.result().ok()) api_.ipc_close(address);
}

Result Device::ExportDmabuf(const DeviceRange& range, UniqueFd* out) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  const auto unavailable = [this](const std::string& why) {
    return Fail(REIGEN_UNAVAILABLE, "CUDA device " + std::to_string(ordinal_) + ": " + why);
  };
  if (api_.range_handle == nullptr) {
    return unavailable("the CUDA driver is too old for dma-buf: it lacks "
                       "cuMemGetHandleForAddressRange");
  }
  if (!facts_.exports_dmabuf) {
    return unavailable("CUDA exports no dma-buf of it: CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED is 0");
  }
  const auto checked = [&](const char* call, CuResult code) {
    Result result = Check(call, code);
    if (!result.ok()) result.code = REIGEN_UNAVAILABLE;
    return result;
  };
  // Or copies that return before they are done would let an RDMA device read old bytes.
  const unsigned on = 1;
  REIGEN_SDK_RETURN_IF_ERROR(
      checked("cuPointerSetAttribute",
              api_.set_pointer_attribute(&on, kCuPointerSyncMemops, range.address())));
  int fd = -1;
  REIGEN_SDK_RETURN_IF_ERROR(
      checked("cuMemGetHandleForAddressRange",
              api_.range_handle(&fd, range.address(), range.bytes(), kCuRangeHandleDmabuf, 0)));
  out->Reset(fd);
  // Whether the driver does is not said anywhere.
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return Ok();
}

Result Device::MapHost(void* memory, size_t bytes, CuAddress* out) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  REIGEN_SDK_RETURN_IF_ERROR(
      Check("cuMemHostRegister",
            api_.host_register(memory, bytes, kCuHostRegisterPortable | kCuHostRegisterDeviceMap)));
  Result mapped = Check("cuMemHostGetDevicePointer", api_.host_address(out, memory, 0));
  if (!mapped.ok()) api_.host_unregister(memory);
  return mapped;
}

}  // namespace reigen::sdk::cuda
