#include "client/cuda/device.h"

#include <utility>
#include <vector>

#include "client/cuda/errors.h"

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

Device::Event::~Event() {
  // In a lost context nothing can be destroyed; the process's end does it.
  const Current current(*device_);
  if (current.result().ok()) device_->api_.event_destroy(event_);
}

Result Device::Event::Wait() const {
  const Current current(*device_);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  return device_->Check("cuEventSynchronize", device_->api_.event_synchronize(event_));
}

Result Device::Open(const DriverApi* api, int ordinal, std::shared_ptr<Device>* out) {
  std::shared_ptr<Device> device(new Device(api, ordinal));
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
  for (CuStream* stream : {&fetching_, &sending_}) {
    REIGEN_SDK_RETURN_IF_ERROR(
        Check("cuStreamCreateWithPriority",
              api_.stream_create(stream, kCuStreamNonBlocking, greatest)));
  }
  return Ok();
}

Device::~Device() {
  if (context_ == nullptr) return;
  {
    const Current current(*this);
    for (CuStream stream : {fetching_, sending_}) {
      if (stream != nullptr && current.result().ok()) api_.stream_destroy(stream);
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
  if (!result.ok() && IsSticky(code)) {
    const std::lock_guard lock(mutex_);
    if (lost_.ok()) lost_ = result;
  }
  return result;
}

Result Device::NewEvent(std::unique_ptr<Event>* out) {
  CuEvent event = nullptr;
  REIGEN_SDK_RETURN_IF_ERROR(
      Check("cuEventCreate", api_.event_create(&event, kCuEventBlockingSync | kCuEventDisableTiming)));
  *out = std::make_unique<Event>(shared_from_this(), event);
  return Ok();
}

Result Device::Mark(CuStream stream, std::unique_ptr<Event>* out) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  REIGEN_SDK_RETURN_IF_ERROR(NewEvent(out));
  return Check("cuEventRecord", api_.event_record((*out)->get(), stream));
}

Result Device::ToHost(const Event& begin, std::span<const Copy> copies) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  REIGEN_SDK_RETURN_IF_ERROR(
      Check("cuStreamWaitEvent", api_.stream_wait_event(fetching_, begin.get(), 0)));
  Result fetched = Ok();
  for (const Copy& copy : copies) {
    if (fetched.ok()) fetched = FetchOne(copy);
  }
  // Also after a failure: copies that were started still write.
  Result ended = Check("cuStreamSynchronize", api_.stream_synchronize(fetching_));
  return fetched.ok() ? ended : fetched;
}

Result Device::FetchOne(const Copy& copy) {
  if (!copy.layout->contiguous()) return FetchStrided(copy);
  return Check("cuMemcpyDtoHAsync",
               api_.copy_to_host(copy.host, copy.device, copy.bytes, fetching_));
}

// The whole range that its elements lie in, then the elements out of that.
Result Device::FetchStrided(const Copy& copy) {
  const int64_t begin = copy.layout->begin();
  std::vector<std::byte> range(static_cast<size_t>(copy.layout->end() - begin));
  const CuResult copied = api_.copy_to_host(
      range.data(), copy.device + static_cast<uint64_t>(begin), range.size(), fetching_);
  Result ended = Check("cuStreamSynchronize", api_.stream_synchronize(fetching_));
  REIGEN_SDK_RETURN_IF_ERROR(Check("cuMemcpyDtoHAsync", copied));
  REIGEN_SDK_RETURN_IF_ERROR(std::move(ended));
  copy.layout->Gather(range.data() - begin, copy.host);
  return Ok();
}

// Only of layouts without gaps (a permutation of dimensions): what lies between
// elements may be written by others.
Result Device::SendStrided(const Copy& copy) {
  const int64_t begin = copy.layout->begin();
  std::vector<std::byte> range(static_cast<size_t>(copy.layout->end() - begin));
  copy.layout->Scatter(copy.host, range.data() - begin);
  const CuResult copied = api_.copy_to_device(copy.device + static_cast<uint64_t>(begin),
                                              range.data(), range.size(), sending_);
  Result ended = Check("cuStreamSynchronize", api_.stream_synchronize(sending_));
  REIGEN_SDK_RETURN_IF_ERROR(Check("cuMemcpyHtoDAsync", copied));
  return ended;
}

Result Device::ToDevice(std::span<const Copy> copies, CuStream stream,
                        std::unique_ptr<Event>* end) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  Result sent = Ok();
  for (const Copy& copy : copies) {
    if (!copy.layout->contiguous()) {
      sent = SendStrided(copy);
    } else {
      sent = Check("cuMemcpyHtoDAsync",
                   api_.copy_to_device(copy.device, copy.host, copy.bytes, sending_));
    }
    if (!sent.ok()) break;
  }
  if (sent.ok()) sent = NewEvent(end);
  if (sent.ok()) sent = Check("cuEventRecord", api_.event_record((*end)->get(), sending_));
  if (sent.ok()) {
    sent = Check("cuStreamWaitEvent", api_.stream_wait_event(stream, (*end)->get(), 0));
  }
  // Copies that were started still read the host memory: the caller may free it.
  if (!sent.ok()) api_.stream_synchronize(sending_);
  return sent;
}

Result Device::Pin(void* memory, size_t bytes) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  return Check("cuMemHostRegister", api_.host_register(memory, bytes, kCuHostRegisterPortable));
}

void Device::Unpin(void* memory) {
  const Current current(*this);
  if (current.result().ok()) api_.host_unregister(memory);
}

}  // namespace reigen::sdk::cuda
