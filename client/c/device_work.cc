#include "client/c/device_work.h"

#include <map>
#include <string>
#include <utility>

#include "client/cuda/reduce_kernel.h"
#include "runtime/base/dtype.h"

namespace reigen::sdk {
namespace {

constexpr uintptr_t kLastDefaultStream = 2;

Result Named(const Request& request, Result result) {
  if (!result.ok()) result.text = request.name() + ": " + result.text;
  return result;
}

cuda::CuAddress AddressOf(const std::byte* memory) { return reinterpret_cast<uintptr_t>(memory); }

cuda::CuStream StreamOf(const Request& request) {
  return reinterpret_cast<cuda::CuStream>(request.stream);
}

// 0: there is none.
cuda::CuAddress AnyAddress(const Request& request) {
  for (const RequestTensor& tensor : request.tensors) {
    if (tensor.input != nullptr) return AddressOf(tensor.input);
    if (tensor.output != nullptr) return AddressOf(tensor.output);
  }
  return 0;
}

}  // namespace

Result DeviceWork::Start(cuda::Devices& devices, const Request& request,
                         std::shared_ptr<TaskThread> thread, std::unique_ptr<DeviceWork>* out) {
  auto work = std::make_unique<DeviceWork>();
  int ordinal = request.device;
  Result started = Ok();
  if (ordinal < 0) started = devices.OrdinalOf(AnyAddress(request), &ordinal);
  if (started.ok()) started = devices.Get(ordinal, &work->device_);
  // A stream's handle says whose it is; the default ones are each context's own.
  if (started.ok() && request.stream <= kLastDefaultStream) {
    started = work->device_->CheckContext(AnyAddress(request));
  }
  if (started.ok()) {
    started = work->device_->Mark(StreamOf(request), &work->begin_);
  }
  if (!started.ok()) return Named(request, std::move(started));
  work->thread_ = std::move(thread);
  work->begun_ = Now();
  *out = std::move(work);
  return Ok();
}

bool DeviceWork::TryPin(const std::shared_ptr<ArenaFile>& file) const {
  std::byte* const base = file->base();
  return file->PinOnce([&] { return device_->Pin(base, file->bytes()); },
                       [device = device_, base] { device->Unpin(base); });
}

// Without inputs too: the outputs are not written before.
Result DeviceWork::AskReady(const Request& request, bool* ready) {
  REIGEN_SDK_RETURN_IF_ERROR(Named(request, begin_->Ask(begun_, ready)));
  const cuda::DeviceOptions& options = device_->options();
  if (*ready || is_late_ || Now() - begun_ < options.wait_limit) return Ok();
  is_late_ = true;
  const auto limit = static_cast<long>(ToSeconds(options.wait_limit));
  options.report(request.name() + ": CUDA device " + std::to_string(device_->ordinal()) +
                 ": its stream has not come to it after " + std::to_string(limit) +
                 " s: what was put there before has not ended");
  return Ok();
}

Result DeviceWork::StartFetch(const Request& request, std::span<const Payload> payloads) {
  std::vector<cuda::Copy> copies;
  std::vector<cuda::DevicePack> packs;
  for (size_t i = 0; i < payloads.size(); ++i) {
    const RequestTensor& tensor = request.tensors[i];
    if (tensor.input == nullptr || tensor.count == 0) continue;
    const cuda::CuAddress from = AddressOf(tensor.input);
    if (payloads[i].device != 0) {
      packs.push_back({.tensor = from,
                       .packed = payloads[i].device,
                       .bytes = tensor.bytes,
                       .layout = &tensor.in});
    } else {
      copies.push_back({.device = from,
                        .host = payloads[i].packed,
                        .bytes = tensor.bytes,
                        .layout = &tensor.in});
    }
  }
  return Named(request, packs.empty()
                            ? device_->StartToHost(copies, pinned_ || copies.empty(), &fetched_)
                            : device_->StartPack(packs, &fetched_));
}

Result DeviceWork::EndFetch(const Request& request) {
  return Named(request, fetched_->Wait());
}

void DeviceWork::KeepIfTouched(PayloadBlock block) {
  device_->KeepIfTouched(std::make_shared<PayloadBlock>(std::move(block)));
}

Result DeviceWork::StartMirror(const DeviceBlock& from, const Block& to,
                               std::unique_ptr<cuda::Device::Event>* end) const {
  return device_->StartMirror(from.address, to.data(), from.bytes, TryPin(to.file()), end);
}

Result DeviceWork::Send(const Request& request, std::span<const Payload> payloads,
                        std::unique_ptr<cuda::Device::Event>* end) const {
  std::vector<cuda::Copy> copies;
  std::vector<cuda::DevicePack> packs;
  for (size_t i = 0; i < payloads.size(); ++i) {
    const RequestTensor& tensor = request.tensors[i];
    if (tensor.output == nullptr || tensor.count == 0) continue;
    const cuda::CuAddress to = AddressOf(tensor.output);
    if (payloads[i].device != 0) {
      packs.push_back({.tensor = to,
                       .packed = payloads[i].device,
                       .bytes = tensor.bytes,
                       .layout = &tensor.out});
    } else {
      copies.push_back({.device = to,
                        .host = payloads[i].packed,
                        .bytes = tensor.bytes,
                        .layout = &tensor.out});
    }
  }
  if (!packs.empty()) return device_->StartUnpack(packs, end);
  return copies.empty() ? Ok() : device_->ToDevice(copies, end);
}

Result DeviceWork::Deliver(const Request& request, std::span<const Payload> payloads,
                           PayloadBlock block) {
  const auto kept = std::make_shared<PayloadBlock>(std::move(block));
  std::unique_ptr<cuda::Device::Event> end;
  Result started = Send(request, payloads, &end);
  if (!started.ok()) {
    device_->KeepIfTouched(kept);
    return Named(request, std::move(started));
  }
  if (end == nullptr) return Ok();
  delivered_ = std::move(end);
  // If it fails the GPU is lost; whoever uses it next is told.
  const auto wait = [kept, delivered = delivered_, device = device_] {
    if (!delivered->Wait().ok()) device->KeepIfTouched(kept);
  };
  if (thread_ == nullptr || !thread_->Post(wait)) wait();
  return Ok();
}

Result DeviceWork::Join(const Request& request) const {
  if (delivered_ == nullptr || is_callers_) return Ok();
  return Named(request, device_->Follow(StreamOf(request), *delivered_));
}

Result DeviceWork::WaitDelivered(const Request& request, Time deadline, bool* done) const {
  *done = true;
  return delivered_ == nullptr ? Ok() : Named(request, delivered_->WaitUntil(deadline, done));
}

bool DeviceWork::CanScale(const Request& request) const {
  if (!device_->has_kernels() || request.kind != CollectiveKind::kAllreduce) return false;
  for (const RequestTensor& tensor : request.tensors) {
    if (!tensor.in.contiguous() || !tensor.out.contiguous()) return false;
    const cuda::CuAddress both = AddressOf(tensor.input) | AddressOf(tensor.output);
    if (both % ElementBytes(tensor.dtype) != 0) return false;
    // An element is read before it is written by its own thread only.
    const bool apart = tensor.input + tensor.bytes <= tensor.output ||
                       tensor.output + tensor.bytes <= tensor.input;
    if (tensor.input != tensor.output && !apart) return false;
  }
  return true;
}

Result DeviceWork::Scale(const Request& request) {
  std::map<DataType, std::vector<cuda::ReduceItem>> items;
  for (const RequestTensor& tensor : request.tensors) {
    if (tensor.count == 0) continue;
    cuda::ReduceItem& item = items[tensor.dtype].emplace_back();
    item.inputs[0] = tensor.input;
    item.out = tensor.output;
    item.count = tensor.count;
  }
  cuda::ReduceBatch batch = {};
  batch.prescale = request.prescale;
  batch.postscale = request.postscale;
  batch.divisor = 1;
  batch.input_count = 1;
  for (const auto& [dtype, of_dtype] : items) {
    REIGEN_SDK_RETURN_IF_ERROR(
        Named(request, device_->Reduce(dtype, batch, of_dtype, StreamOf(request))));
  }
  std::unique_ptr<cuda::Device::Event> end;
  REIGEN_SDK_RETURN_IF_ERROR(Named(request, device_->Mark(StreamOf(request), &end)));
  delivered_ = std::move(end);
  is_callers_ = true;
  return Ok();
}

}  // namespace reigen::sdk
