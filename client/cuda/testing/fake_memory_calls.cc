// libcuda's calls about memory: of GPUs, of other processes, of the host; and copies.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "client/cuda/testing/fake_call.h"
#include "client/cuda/testing/fake_machine.h"

using reigen::fake_cuda::contexts;
using reigen::fake_cuda::kAnyDevice;
using reigen::fake_cuda::kInvalidValue;
using reigen::fake_cuda::Machine;
using reigen::fake_cuda::Range;
using reigen::fake_cuda::Run;
using reigen::fake_cuda::Stream;

namespace {

constexpr unsigned kDeviceMap = 2;
constexpr unsigned kLazyEnablePeerAccess = 1;
constexpr int kDmabuf = 1;
constexpr int kContext = 1;
constexpr int kDeviceOrdinal = 9;
constexpr int kWouldHang = 600;  // no driver says so: it would wait

// As CUDA's own.
struct IpcHandle {
  unsigned char bytes[reigen::fake_cuda::kHandleBytes];
};

// As with a real driver, host memory that is not page-locked is read or written before
// the call returns.
int StartHostCopy(Machine& machine, void* stream_handle, const void* host, Range device,
                  void* to, const void* from) {
  if (!machine.memory().OnDevice(device)) return kInvalidValue;
  Stream* const stream = machine.StreamOf(stream_handle);
  machine.Push(stream, [&machine, device, to, from] {
    machine.Touch(kAnyDevice, {&device, 1}, [&] { std::memcpy(to, from, device.bytes); });
  });
  const bool waits = !machine.memory().Registered(host);
  return !waits || machine.RunTo(stream, stream->work.size()) ? 0 : kWouldHang;
}

int StartCopy(Machine& machine, void* stream, uint64_t to, uint64_t from, size_t bytes) {
  machine.Push(machine.StreamOf(stream), [&machine, to, from, bytes] {
    const Range ranges[] = {{to, bytes}, {from, bytes}};
    machine.Touch(kAnyDevice, ranges, [=] {
      std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    });
  });
  return 0;
}

}  // namespace

FAKE_CUDA cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  return Run("cuMemAlloc_v2", true, [=](Machine& machine) {
    return machine.memory().Allocate(bytes, contexts.back(), address);
  });
}

FAKE_CUDA cuMemFree_v2(uint64_t address) {
  return Run("cuMemFree_v2", true,
             [=](Machine& machine) { return machine.memory().Free(address); });
}

FAKE_CUDA cuIpcGetMemHandle(IpcHandle* handle, uint64_t address) {
  return Run("cuIpcGetMemHandle", true, [=](Machine& machine) {
    return machine.memory().ExportHandle(address, handle->bytes);
  });
}

FAKE_CUDA cuIpcOpenMemHandle_v2(uint64_t* address, IpcHandle handle, unsigned flags) {
  return Run("cuIpcOpenMemHandle_v2", true, [&](Machine& machine) {
    if (flags != kLazyEnablePeerAccess) return kInvalidValue;
    return machine.memory().Open(handle.bytes, contexts.back(), address);
  });
}

FAKE_CUDA cuIpcCloseMemHandle(uint64_t address) {
  return Run("cuIpcCloseMemHandle", true,
             [=](Machine& machine) { return machine.memory().Close(address); });
}

FAKE_CUDA cuMemGetHandleForAddressRange(void* handle, uint64_t address, size_t bytes, int type,
                                        unsigned long long flags) {
  return Run("cuMemGetHandleForAddressRange", true, [=](Machine& machine) {
    if (type != kDmabuf || flags != 0) return kInvalidValue;
    return machine.memory().ExportDmabuf(address, bytes, static_cast<int*>(handle));
  });
}

FAKE_CUDA cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
  return Run("cuMemHostRegister_v2", true, [=](Machine& machine) {
    return machine.memory().Register(memory, bytes, (flags & kDeviceMap) != 0);
  });
}

FAKE_CUDA cuMemHostUnregister(void* memory) {
  return Run("cuMemHostUnregister", true,
             [=](Machine& machine) { return machine.memory().Unregister(memory); });
}

FAKE_CUDA cuMemHostGetDevicePointer_v2(uint64_t* address, void* memory, unsigned flags) {
  return Run("cuMemHostGetDevicePointer_v2", true, [=](Machine& machine) {
    return flags != 0 ? kInvalidValue : machine.memory().HostAddress(memory, address);
  });
}

FAKE_CUDA cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
  return Run("cuMemcpyDtoHAsync_v2", true, [=](Machine& machine) {
    return StartHostCopy(machine, stream, to, {from, bytes}, to,
                         reinterpret_cast<const void*>(from));
  });
}

FAKE_CUDA cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
  return Run("cuMemcpyHtoDAsync_v2", true, [=](Machine& machine) {
    return StartHostCopy(machine, stream, from, {to, bytes}, reinterpret_cast<void*>(to), from);
  });
}

FAKE_CUDA cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void* stream) {
  return Run("cuMemcpyDtoDAsync_v2", true, [=](Machine& machine) {
    const bool known =
        machine.memory().OnDevice({to, bytes}) && machine.memory().OnDevice({from, bytes});
    return known ? StartCopy(machine, stream, to, from, bytes) : kInvalidValue;
  });
}

// Of memory of GPUs, and of the host's as GPUs reach it.
FAKE_CUDA cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void* stream) {
  return Run("cuMemcpyAsync", true, [=](Machine& machine) {
    const bool known = machine.memory().Reaches(kAnyDevice, {to, bytes}) &&
                       machine.memory().Reaches(kAnyDevice, {from, bytes});
    return known ? StartCopy(machine, stream, to, from, bytes) : kInvalidValue;
  });
}

FAKE_CUDA cuPointerGetAttribute(void* value, int attribute, uint64_t address) {
  return Run("cuPointerGetAttribute", false, [=](Machine& machine) {
    if (!machine.memory().OnDevice({address, 1})) return kInvalidValue;
    const int device = machine.memory().DeviceOf(address);
    if (attribute == kContext) {
      char* const primary = reinterpret_cast<char*>(&machine) + device;
      *static_cast<void**>(value) =
          primary + (machine.memory().elsewhere(address) ? reigen::fake_cuda::kMaxDevices : 0);
      return 0;
    }
    if (attribute != kDeviceOrdinal) return kInvalidValue;
    *static_cast<int*>(value) = device;
    return 0;
  });
}

// For tests alone: memory that was allocated in a context of the program's own.
FAKE_CUDA reigen_fake_cuda_elsewhere(uint64_t address) {
  const std::lock_guard lock(Machine::Get().mutex());
  Machine::Get().memory().PutElsewhere(address);
  return 0;
}

FAKE_CUDA cuPointerSetAttribute(const void*, int, uint64_t address) {
  return Run("cuPointerSetAttribute", true, [=](Machine& machine) {
    return machine.memory().OnDevice({address, 1}) ? 0 : kInvalidValue;
  });
}
