// libcuda's interface, as far as the SDK and its tests use it, over FakeMachine.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "client/cuda/testing/fake_call.h"
#include "client/cuda/testing/fake_machine.h"

using reigen::fake_cuda::contexts;
using reigen::fake_cuda::DeviceCount;
using reigen::fake_cuda::Event;
using reigen::fake_cuda::kAnyDevice;
using reigen::fake_cuda::kInvalidValue;
using reigen::fake_cuda::Machine;
using reigen::fake_cuda::Range;
using reigen::fake_cuda::Run;
using reigen::fake_cuda::Stream;

namespace {

constexpr int kInvalidContext = 201;
constexpr int kInvalidHandle = 400;
constexpr int kNotReady = 600;
constexpr int kCaptureImplicit = 906;

const char* NameOf(int code) {
  switch (code) {
    case 2: return "CUDA_ERROR_OUT_OF_MEMORY";
    case 201: return "CUDA_ERROR_INVALID_CONTEXT";
    case 205: return "CUDA_ERROR_MAP_FAILED";
    case 217: return "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED";
    case 700: return "CUDA_ERROR_ILLEGAL_ADDRESS";
    case 716: return "CUDA_ERROR_MISALIGNED_ADDRESS";
    case 801: return "CUDA_ERROR_NOT_SUPPORTED";
    default: return "CUDA_ERROR_OF_THE_FAKE";
  }
}

}  // namespace

FAKE_CUDA cuInit(unsigned) {
  return Run("cuInit", false, [](Machine&) {
    [[maybe_unused]] static const int registered = std::atexit([] {
      const std::lock_guard lock(Machine::Get().mutex());
      Machine::Get().End();
    });
    return 0;
  });
}

FAKE_CUDA cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}

FAKE_CUDA cuDeviceGetCount(int* count) {
  return Run("cuDeviceGetCount", false, [=](Machine&) {
    *count = DeviceCount();
    return 0;
  });
}

FAKE_CUDA cuDeviceGet(int* device, int ordinal) {
  return Run("cuDeviceGet", false, [=](Machine&) {
    *device = ordinal;
    return ordinal < DeviceCount() ? 0 : kInvalidValue;
  });
}

FAKE_CUDA cuDevicePrimaryCtxRetain(void** context, int device) {
  return Run("cuDevicePrimaryCtxRetain", false, [=](Machine& machine) {
    *context = reinterpret_cast<char*>(&machine) + device;
    return 0;
  });
}

FAKE_CUDA cuDevicePrimaryCtxRelease_v2(int) { return 0; }

FAKE_CUDA cuCtxPushCurrent_v2(void* context) {
  return Run("cuCtxPushCurrent_v2", false, [=](Machine& machine) {
    contexts.push_back(static_cast<int>(static_cast<char*>(context) -
                                        reinterpret_cast<char*>(&machine)));
    return 0;
  });
}

FAKE_CUDA cuCtxPopCurrent_v2(void** context) {
  *context = nullptr;
  if (contexts.empty()) return kInvalidContext;
  contexts.pop_back();
  return 0;
}

FAKE_CUDA cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return Run("cuCtxGetStreamPriorityRange", true, [](Machine&) { return 0; });
}

FAKE_CUDA cuStreamCreateWithPriority(void** stream, unsigned, int priority) {
  return Run("cuStreamCreateWithPriority", true, [=](Machine& machine) {
    auto fresh = std::make_unique<Stream>();
    fresh->device = contexts.back();
    fresh->priority = priority;
    *stream = fresh.get();
    machine.streams()[*stream] = std::move(fresh);
    return 0;
  });
}

FAKE_CUDA cuStreamDestroy_v2(void* stream) {
  return Run("cuStreamDestroy_v2", true, [=](Machine& machine) {
    machine.Destroy(stream);
    return 0;
  });
}

FAKE_CUDA cuStreamSynchronize(void* stream) {
  return Run("cuStreamSynchronize", true, [=](Machine& machine) {
    Stream* const fake = machine.StreamOf(stream);
    return machine.RunTo(fake, fake->work.size()) ? 0 : kNotReady;
  });
}

FAKE_CUDA cuStreamIsCapturing(void* stream, int* status) {
  return Run("cuStreamIsCapturing", true, [=](Machine& machine) {
    Stream* const fake = machine.StreamOf(stream);
    *status = fake->captures ? 1 : 0;
    return stream == nullptr && machine.StreamCaptures() ? kCaptureImplicit : 0;
  });
}

FAKE_CUDA cuStreamWaitEvent(void* stream, void* event, unsigned) {
  return Run("cuStreamWaitEvent", true, [=](Machine& machine) {
    const Event seen = *static_cast<Event*>(event);
    if (seen.stream == nullptr) return 0;
    machine.PushWait(machine.StreamOf(stream), seen.stream, seen.position);
    return 0;
  });
}

FAKE_CUDA cuEventCreate(void** event, unsigned) {
  return Run("cuEventCreate", true, [=](Machine& machine) {
    auto fresh = std::make_unique<Event>();
    fresh->device = contexts.back();
    *event = fresh.get();
    machine.events()[*event] = std::move(fresh);
    return 0;
  });
}

FAKE_CUDA cuEventDestroy_v2(void* event) {
  return Run("cuEventDestroy_v2", true, [=](Machine& machine) {
    machine.events().erase(event);
    return 0;
  });
}

FAKE_CUDA cuEventRecord(void* event, void* stream) {
  return Run("cuEventRecord", true, [=](Machine& machine) {
    Stream* const fake = machine.StreamOf(stream);
    auto* const recorded = static_cast<Event*>(event);
    if (recorded->device != fake->device) return kInvalidHandle;
    recorded->stream = fake;
    recorded->position = fake->work.size();
    return 0;
  });
}

FAKE_CUDA cuEventQuery(void* event) {
  return Run("cuEventQuery", true, [=](Machine& machine) {
    const Event seen = *static_cast<Event*>(event);
    return seen.stream == nullptr ? 0 : machine.Query(event, seen.stream, seen.position);
  });
}

FAKE_CUDA cuStreamQuery(void* stream) {
  return Run("cuStreamQuery", true, [=](Machine& machine) {
    Stream* const fake = machine.StreamOf(stream);
    return machine.Query(stream, fake, fake->work.size());
  });
}

FAKE_CUDA cuGetErrorName(int code, const char** name) {
  *name = NameOf(code);
  return 0;
}

FAKE_CUDA cuGetErrorString(int code, const char** text) {
  *text = code == 700 ? "an illegal memory access was encountered" : "an injected fault";
  return code == kInvalidHandle ? kInvalidValue : 0;
}

// --- for tests alone ------------------------------------------------------------

FAKE_CUDA reigen_fake_cuda_fail(const char* symbol, int code, int skip) {
  const std::lock_guard lock(Machine::Get().mutex());
  Machine::Get().FailOnce(symbol, code, skip);
  return 0;
}

FAKE_CUDA reigen_fake_cuda_mend() {
  const std::lock_guard lock(Machine::Get().mutex());
  Machine::Get().Mend();
  return 0;
}

// Writes when the stream gets there, as a kernel of the trainer would.
FAKE_CUDA reigen_fake_cuda_write(uint64_t to, const void* from, size_t bytes, void* stream) {
  Machine& machine = Machine::Get();
  const std::lock_guard lock(machine.mutex());
  std::string held(static_cast<const char*>(from), bytes);
  machine.Push(machine.StreamOf(stream), [&machine, to, held] {
    const Range range{.address = to, .bytes = held.size()};
    machine.Touch(kAnyDevice, {&range, 1}, [&] {
      std::memcpy(reinterpret_cast<void*>(to), held.data(), held.size());
    });
  });
  return 0;
}

// Streams do nothing, whoever asks.
FAKE_CUDA cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, reigen::fake_cuda::capture_mode);
  return 0;
}

FAKE_CUDA reigen_fake_cuda_capture(int captures) {
  const std::lock_guard lock(Machine::Get().mutex());
  Machine::Get().Capture(captures != 0);
  return 0;
}

FAKE_CUDA reigen_fake_cuda_hang() {
  const std::lock_guard lock(Machine::Get().mutex());
  Machine::Get().Hang();
  return 0;
}

FAKE_CUDA reigen_fake_cuda_hang_stream(void* stream, int hangs) {
  const std::lock_guard lock(Machine::Get().mutex());
  Machine::Get().StreamOf(stream)->hangs = hangs != 0;
  return 0;
}

FAKE_CUDA reigen_fake_cuda_capture_stream(void* stream, int captures) {
  const std::lock_guard lock(Machine::Get().mutex());
  Machine::Get().StreamOf(stream)->captures = captures != 0;
  return 0;
}

// How many streams have that priority.
FAKE_CUDA reigen_fake_cuda_streams(int priority) {
  const std::lock_guard lock(Machine::Get().mutex());
  int count = 0;
  for (const auto& [handle, stream] : Machine::Get().streams()) {
    if (stream->priority == priority) ++count;
  }
  return count;
}

FAKE_CUDA reigen_fake_cuda_calls(const char* symbol) {
  const std::lock_guard lock(Machine::Get().mutex());
  return Machine::Get().calls(symbol);
}

FAKE_CUDA reigen_fake_cuda_registered() {
  const std::lock_guard lock(Machine::Get().mutex());
  return static_cast<int>(Machine::Get().memory().registered());
}
