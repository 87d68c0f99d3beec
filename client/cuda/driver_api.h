// What the SDK uses of CUDA's driver API, as a table of functions, and the types in
// it. Written down here, so that a build needs no toolkit and libreigen.so no libcuda:
// the table is filled by dlopen (load_driver.h), or by the fake of the tests.
#ifndef REIGEN_CLIENT_CUDA_DRIVER_API_H_
#define REIGEN_CLIENT_CUDA_DRIVER_API_H_

#include <cstddef>
#include <cstdint>

namespace reigen::sdk::cuda {

// cuda.h's, under its binary interface.
using CuResult = int;          // 0: success
using CuDevice = int;          // an ordinal among the visible devices
using CuAddress = uint64_t;    // CUdeviceptr
using CuContext = struct CuContextObject*;
using CuStream = struct CuStreamObject*;  // null: the legacy default stream
using CuEvent = struct CuEventObject*;
using CuModule = struct CuModuleObject*;
using CuFunction = struct CuFunctionObject*;

inline constexpr CuResult kCuSuccess = 0;
inline constexpr CuResult kCuInvalidValue = 1;
inline constexpr CuResult kCuDeinitialized = 4;
inline constexpr CuResult kCuNoDevice = 100;
inline constexpr CuResult kCuNotReady = 600;
inline constexpr CuResult kCuIllegalAddress = 700;
inline constexpr CuResult kCuCaptureImplicit = 906;
inline constexpr CuResult kCuUnknown = 999;

inline constexpr unsigned kCuStreamNonBlocking = 1;
inline constexpr unsigned kCuEventDisableTiming = 2;
inline constexpr unsigned kCuHostRegisterPortable = 1;
inline constexpr unsigned kCuHostRegisterDeviceMap = 2;
inline constexpr unsigned kCuIpcLazyEnablePeerAccess = 1;
inline constexpr int kCuPointerContext = 1;
inline constexpr int kCuPointerSyncMemops = 6;
inline constexpr int kCuPointerDeviceOrdinal = 9;
inline constexpr int kCuRangeHandleDmabuf = 1;
inline constexpr int kCuDeviceCapabilityMajor = 75;
inline constexpr int kCuDeviceAllowsRdma = 116;
inline constexpr int kCuDeviceWritesOrdering = 118;
inline constexpr int kCuDeviceExportsDmabuf = 124;

inline constexpr int kCuCaptureModeRelaxed = 2;
inline constexpr int kCuCaptureStatusNone = 0;

inline constexpr size_t kCuIpcHandleBytes = 64;
struct CuIpcHandle {  // by value in calls
  unsigned char bytes[kCuIpcHandleBytes];
};

// X(member, symbol, parameters): `symbol` is what libcuda exports.
#define REIGEN_CUDA_FUNCTIONS(X)                                                          \
  X(init, cuInit, (unsigned flags))                                                       \
  X(driver_version, cuDriverGetVersion, (int* version))                                   \
  X(device_count, cuDeviceGetCount, (int* count))                                         \
  X(device_get, cuDeviceGet, (CuDevice * device, int ordinal))                            \
  X(device_attribute, cuDeviceGetAttribute, (int* value, int attribute, CuDevice device)) \
  X(device_bus_id, cuDeviceGetPCIBusId, (char* id, int length, CuDevice device))          \
  X(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, CuDevice device))                \
  X(primary_retain, cuDevicePrimaryCtxRetain, (CuContext * context, CuDevice device))     \
  X(primary_release, cuDevicePrimaryCtxRelease_v2, (CuDevice device))                     \
  X(push_context, cuCtxPushCurrent_v2, (CuContext context))                               \
  X(pop_context, cuCtxPopCurrent_v2, (CuContext * context))                               \
  X(is_capturing, cuStreamIsCapturing, (CuStream stream, int* status))                    \
  X(exchange_capture_mode, cuThreadExchangeStreamCaptureMode, (int* mode))                \
  X(priority_range, cuCtxGetStreamPriorityRange, (int* least, int* greatest))             \
  X(stream_create, cuStreamCreateWithPriority,                                            \
    (CuStream * stream, unsigned flags, int priority))                                    \
  X(stream_destroy, cuStreamDestroy_v2, (CuStream stream))                                \
  X(stream_wait_event, cuStreamWaitEvent, (CuStream stream, CuEvent event, unsigned flags)) \
  X(stream_query, cuStreamQuery, (CuStream stream))                                       \
  X(event_create, cuEventCreate, (CuEvent * event, unsigned flags))                       \
  X(event_destroy, cuEventDestroy_v2, (CuEvent event))                                    \
  X(event_record, cuEventRecord, (CuEvent event, CuStream stream))                        \
  X(event_query, cuEventQuery, (CuEvent event))                                           \
  X(host_register, cuMemHostRegister_v2, (void* memory, size_t bytes, unsigned flags))    \
  X(host_unregister, cuMemHostUnregister, (void* memory))                                 \
  X(host_address, cuMemHostGetDevicePointer_v2,                                           \
    (CuAddress * address, void* memory, unsigned flags))                                  \
  X(copy, cuMemcpyAsync, (CuAddress to, CuAddress from, size_t bytes, CuStream stream))   \
  X(copy_to_host, cuMemcpyDtoHAsync_v2,                                                   \
    (void* to, CuAddress from, size_t bytes, CuStream stream))                            \
  X(copy_to_device, cuMemcpyHtoDAsync_v2,                                                 \
    (CuAddress to, const void* from, size_t bytes, CuStream stream))                      \
  X(allocate, cuMemAlloc_v2, (CuAddress * address, size_t bytes))                         \
  X(free, cuMemFree_v2, (CuAddress address))                                              \
  X(ipc_handle, cuIpcGetMemHandle, (CuIpcHandle * handle, CuAddress address))             \
  X(ipc_open, cuIpcOpenMemHandle_v2,                                                      \
    (CuAddress * address, CuIpcHandle handle, unsigned flags))                            \
  X(ipc_close, cuIpcCloseMemHandle, (CuAddress address))                                  \
  X(module_load, cuModuleLoadData, (CuModule * module, const void* image))                \
  X(module_unload, cuModuleUnload, (CuModule module))                                     \
  X(module_function, cuModuleGetFunction,                                                 \
    (CuFunction * function, CuModule module, const char* name))                           \
  X(launch, cuLaunchKernel,                                                               \
    (CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,              \
     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,         \
     CuStream stream, void** arguments, void** extra))                                    \
  X(pointer_attribute, cuPointerGetAttribute, (void* value, int attribute, CuAddress address)) \
  X(set_pointer_attribute, cuPointerSetAttribute,                                         \
    (const void* value, int attribute, CuAddress address))                                \
  X(error_name, cuGetErrorName, (CuResult code, const char** name))                       \
  X(error_text, cuGetErrorString, (CuResult code, const char** text))

// Null where the driver is older than the function (here: than 11.7): the caller asks
// before each use.
#define REIGEN_CUDA_OPTIONAL_FUNCTIONS(X)                                                 \
  X(range_handle, cuMemGetHandleForAddressRange,                                          \
    (void* handle, CuAddress address, size_t bytes, int type, unsigned long long flags))

struct DriverApi {
#define REIGEN_CUDA_MEMBER(member, symbol, parameters) CuResult(*member) parameters = nullptr;
  REIGEN_CUDA_FUNCTIONS(REIGEN_CUDA_MEMBER)
  REIGEN_CUDA_OPTIONAL_FUNCTIONS(REIGEN_CUDA_MEMBER)
#undef REIGEN_CUDA_MEMBER
};

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_DRIVER_API_H_
