#include "client/c/device_work.h"

#include <utility>

namespace reigen::sdk {
namespace {

Result Named(const Request& request, Result result) {
  if (!result.ok()) result.text = request.name() + ": " + result.text;
  return result;
}

cuda::CuAddress AddressOf(const std::byte* memory) { return reinterpret_cast<uintptr_t>(memory); }

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
  if (started.ok()) {
    started = work->device_->Mark(reinterpret_cast<cuda::CuStream>(request.stream), &work->begin_);
  }
  if (!started.ok()) return Named(request, std::move(started));
  work->thread_ = std::move(thread);
  *out = std::move(work);
  return Ok();
}

Result DeviceWork::Pin(const std::shared_ptr<ArenaFile>& file) {
  std::byte* const base = file->base();
  return file->PinOnce([&] { return device_->Pin(base, file->bytes()); },
                       [device = device_, base] { device->Unpin(base); });
}

Result DeviceWork::Fetch(const Request& request, std::span<const Payload> payloads) {
  std::vector<cuda::Copy> copies;
  for (size_t i = 0; i < payloads.size(); ++i) {
    const RequestTensor& tensor = request.tensors[i];
    if (tensor.input == nullptr || tensor.count == 0) continue;
    copies.push_back({.device = AddressOf(tensor.input),
                      .host = payloads[i].packed,
                      .bytes = tensor.bytes,
                      .layout = &tensor.in});
  }
  // Without copies too: the outputs are not written before the stream got here.
  return Named(request, device_->ToHost(*begin_, copies));
}

Result DeviceWork::Deliver(const Request& request, std::span<const Payload> payloads,
                           Block block) {
  std::vector<cuda::Copy> copies;
  for (size_t i = 0; i < payloads.size(); ++i) {
    const RequestTensor& tensor = request.tensors[i];
    if (tensor.output == nullptr || tensor.count == 0) continue;
    copies.push_back({.device = AddressOf(tensor.output),
                      .host = payloads[i].packed,
                      .bytes = tensor.bytes,
                      .layout = &tensor.out});
  }
  if (copies.empty()) return Ok();
  struct Sent {
    std::unique_ptr<cuda::Device::Event> end;
    Block block;
  };
  const auto sent = std::make_shared<Sent>();
  REIGEN_SDK_RETURN_IF_ERROR(
      Named(request, device_->ToDevice(copies, reinterpret_cast<cuda::CuStream>(request.stream),
                                       &sent->end)));
  sent->block = std::move(block);
  // If it fails the GPU is lost, and nothing reads the block.
  const auto wait = [sent] { static_cast<void>(sent->end->Wait().ok()); };
  if (thread_ == nullptr || !thread_->Post(wait)) wait();
  return Ok();
}

}  // namespace reigen::sdk
