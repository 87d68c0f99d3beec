#include "client/cuda/device.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "client/cuda/current.h"
#include "client/cuda/errors.h"

namespace reigen::sdk::cuda {
namespace {

// Of each direction. Copies of this size run at the full speed of PCIe.
constexpr size_t kScratchBytes = size_t{16} << 20;
// A small copy is done while this thread asks without a pause.
constexpr auto kBusyTime = std::chrono::microseconds(30);
constexpr auto kPause = std::chrono::microseconds(50);

// Of a wait since `begin`.
void Pause(Time begin) {
  if (Now() - begin < kBusyTime) return;
  std::this_thread::sleep_for(kPause);  // NOLINT: CUDA's own waits have no deadline
}

}  // namespace

Device::Event::~Event() {
  // In a lost context nothing can be destroyed; the process's end does it.
  const Current current(*device_);
  if (current.result().ok()) device_->api_.event_destroy(event_);
}

Result Device::Event::Wait() const {
  bool done = false;
  return WaitUntil(Time::max(), &done);
}

Result Device::Event::WaitUntil(Time deadline, bool* done) const {
  *done = false;
  const Current current(*device_);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  const Time begin = Now();
  while (true) {
    REIGEN_SDK_RETURN_IF_ERROR(AskInContext(begin, done));
    if (*done || Now() >= deadline) return Ok();
    Pause(begin);
  }
}

Result Device::Event::Ask(Time begin, bool* done) const {
  *done = false;
  const Current current(*device_);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  return AskInContext(begin, done);
}

Result Device::Event::AskInContext(Time begin, bool* done) const {
  const CuResult code = device_->api_.event_query(event_);
  if (code == kCuNotReady) return limited_ ? device_->CheckLimit(begin) : device_->lost();
  *done = true;
  return device_->CheckWork("cuEventQuery", code);
}

Result Device::Open(const DeviceOptions& options, int ordinal, std::shared_ptr<Device>* out) {
  std::shared_ptr<Device> device(new Device(options, ordinal));
  REIGEN_SDK_RETURN_IF_ERROR(device->Start());
  *out = std::move(device);
  return Ok();
}

Result Device::Start() {
  REIGEN_SDK_RETURN_IF_ERROR(Check("cuDeviceGet", api_.device_get(&device_, ordinal_)));
  CuContext context = nullptr;
  REIGEN_SDK_RETURN_IF_ERROR(
      Check("cuDevicePrimaryCtxRetain", api_.primary_retain(&context, device_)));
  context_ = context;
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  int least = 0;
  int greatest = 0;
  REIGEN_SDK_RETURN_IF_ERROR(
      Check("cuCtxGetStreamPriorityRange", api_.priority_range(&least, &greatest)));
  // Streams of one priority may share a queue of the hardware, in which a long fetch would
  // hold up commands.
  const int second = std::min(greatest + 1, least);
  for (Lane* lane : {&fetching_, &sending_, &commands_}) {
    const int priority = lane == &fetching_ ? second : greatest;
    REIGEN_SDK_RETURN_IF_ERROR(
        Check("cuStreamCreateWithPriority",
              api_.stream_create(&lane->stream, kCuStreamNonBlocking, priority)));
  }
  FindFacts();
  const std::string why_none = StartKernels();
  REIGEN_SDK_RETURN_IF_ERROR(lost());
  options_.report("CUDA device " + std::to_string(ordinal_) + ": small and strided tensors are " +
                  (why_none.empty() ? "packed by libreigen's kernels"
                                    : "copied one by one, for " + why_none));
  return Ok();
}

// Why there are none, or "".
std::string Device::StartKernels() {
  if (options_.image.empty()) return options_.no_image;
  std::unique_ptr<Kernels> kernels;
  Result started = Check(Kernels::Load(api_, options_.image, &kernels));
  for (Lane* lane : {&fetching_, &sending_, &commands_}) {
    const size_t bytes = lane == &commands_ ? kMaxPeekBytes : kScratchBytes;
    if (started.ok()) started = Check("cuMemAlloc", api_.allocate(&lane->scratch, bytes));
  }
  if (!started.ok()) return started.text;
  kernels_ = std::move(kernels);
  return "";
}

Device::~Device() {
  if (context_ == nullptr) return;
  {
    const Current current(*this);
    if (current.result().ok()) {
      for (Lane* lane : {&fetching_, &sending_, &commands_}) {
        if (lane->stream != nullptr) api_.stream_destroy(lane->stream);
        if (lane->scratch != 0) api_.free(lane->scratch);
      }
      kernels_.reset();
    } else {
      if (kernels_ != nullptr) kernels_->Forget();
    }
  }
  api_.primary_release(device_);
}

Result Device::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

Result Device::Check(const char* call, CuResult code) {
  Result result = FromCuda(api_, ordinal_, call, code);
  return IsSticky(code) ? Lose(std::move(result)) : result;
}

Result Device::CheckWork(const char* call, CuResult code) {
  Result result = Check(call, code);
  if (code != kCuUnknown) return result;
  result.code = REIGEN_UNAVAILABLE;
  return Lose(std::move(result));
}

Result Device::Lose(Result why) {
  const std::lock_guard lock(mutex_);
  if (lost_.ok()) lost_ = why;
  return why;
}

Result Device::Record(CuStream stream, bool limited, std::unique_ptr<Event>* out) {
  CuEvent event = nullptr;
  REIGEN_SDK_RETURN_IF_ERROR(
      Check("cuEventCreate", api_.event_create(&event, kCuEventDisableTiming)));
  *out = std::make_unique<Event>(shared_from_this(), event, limited);
  return CheckWork("cuEventRecord", api_.event_record(event, stream));
}

Result Device::Mark(CuStream stream, std::unique_ptr<Event>* out) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  REIGEN_SDK_RETURN_IF_ERROR(CheckCapture(stream));
  return Record(stream, false, out);
}

// An event of a capture would draw the device's streams into the graph.
Result Device::CheckCapture(CuStream stream) {
  int status = kCuCaptureStatusNone;
  const CuResult code = api_.is_capturing(stream, &status);
  if (code == kCuCaptureImplicit) {
    return Fail(REIGEN_FAILED_PRECONDITION,
                "the default stream waits for one that is capturing a graph");
  }
  REIGEN_SDK_RETURN_IF_ERROR(Check("cuStreamIsCapturing", code));
  if (status == kCuCaptureStatusNone) return Ok();
  return Fail(REIGEN_FAILED_PRECONDITION, "the stream is capturing a graph");
}

Result Device::Await(const char* call, const std::function<CuResult()>& query) {
  const Time begin = Now();
  while (true) {
    const CuResult code = query();
    if (code != kCuNotReady) return CheckWork(call, code);
    REIGEN_SDK_RETURN_IF_ERROR(CheckLimit(begin));
    Pause(begin);
  }
}

Result Device::CheckLimit(Time begin) {
  REIGEN_SDK_RETURN_IF_ERROR(lost());
  if (Now() - begin < options_.wait_limit) return Ok();
  const auto limit = static_cast<long>(ToSeconds(options_.wait_limit));
  return Lose(Fail(REIGEN_UNAVAILABLE,
                   "CUDA device " + std::to_string(ordinal_) + ": a copy or kernel of libreigen's "
                   "has not ended after " + std::to_string(limit) + " s, though its input is ready"));
}

// Until the device has left the host memory of the lane's copies alone.
Result Device::Drain(const Lane& lane) {
  return Await("cuStreamQuery", [&] { return api_.stream_query(lane.stream); });
}

size_t Device::scratch_bytes() const { return kernels_ != nullptr ? kScratchBytes : 0; }

bool Device::Pin(void* memory, size_t bytes) {
  const Current current(*this);
  if (!current.result().ok()) return false;
  const Result pinned =
      Check("cuMemHostRegister", api_.host_register(memory, bytes, kCuHostRegisterPortable));
  if (pinned.ok()) return true;
  {
    const std::lock_guard lock(mutex_);
    if (!lost_.ok() || std::exchange(pin_failed_, true)) return false;
  }
  options_.report(pinned.text + ": the host memory that its tensors go through is not "
                  "page-locked, and copies are slower");
  return false;
}

void Device::Unpin(void* memory) {
  const Current current(*this);
  if (current.result().ok()) api_.host_unregister(memory);
}

void Device::KeepIfTouched(std::shared_ptr<void> memory) {
  const std::lock_guard lock(mutex_);
  if (!lost_.ok()) kept_.push_back(std::move(memory));
}

}  // namespace reigen::sdk::cuda
