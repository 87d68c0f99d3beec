// The device's work that stays on GPUs: packing, unpacking and commands; and mirrors, which
// are ordered with commands.
#include <memory>
#include <utility>
#include <vector>

#include "client/cuda/current.h"
#include "client/cuda/device.h"

namespace reigen::sdk::cuda {

Result Device::StartPack(std::span<const DevicePack> packs, std::unique_ptr<Event>* end) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  DevicePackPlan plan;
  AddToPlan(packs, has_kernels(), false, &plan);
  const std::lock_guard lock(fetching_.mutex);
  if (!plan.on_host.empty()) REIGEN_SDK_RETURN_IF_ERROR(Drain(fetching_));
  Result packed = CopyAll(fetching_, plan, false);
  if (packed.ok()) packed = Record(fetching_.stream, true, end);
  // What was started still writes.
  if (!packed.ok()) static_cast<void>(Drain(fetching_).ok());
  return packed;
}

Result Device::StartUnpack(std::span<const DevicePack> packs, std::unique_ptr<Event>* end) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  DevicePackPlan plan;
  AddToPlan(packs, has_kernels(), true, &plan);
  const std::lock_guard lock(sending_.mutex);
  Result sent = CopyAll(sending_, plan, true);
  if (sent.ok()) sent = Record(sending_.stream, true, end);
  if (!sent.ok()) static_cast<void>(Drain(sending_).ok());
  return sent;
}

Result Device::CopyAll(const Lane& lane, const DevicePackPlan& plan, bool to_tensors) {
  for (const DevicePack& pack : plan.direct) {
    REIGEN_SDK_RETURN_IF_ERROR(
        CheckWork("cuMemcpyAsync", api_.copy(to_tensors ? pack.tensor : pack.packed,
                                             to_tensors ? pack.packed : pack.tensor, pack.bytes,
                                             lane.stream)));
  }
  for (const PackBatch& batch : plan.packs) {
    REIGEN_SDK_RETURN_IF_ERROR(CheckWork(kernels_->Pack(batch, lane.stream)));
  }
  for (const StridedBatch& batch : plan.strided) {
    REIGEN_SDK_RETURN_IF_ERROR(CheckWork(kernels_->Pack(batch, lane.stream)));
  }
  for (const DevicePack& pack : plan.on_host) {
    REIGEN_SDK_RETURN_IF_ERROR(to_tensors ? UnpackOnHost(lane, pack) : PackOnHost(lane, pack));
  }
  return Ok();
}

Result Device::PackOnHost(const Lane& lane, const DevicePack& pack) {
  const auto packed = std::make_shared<std::vector<std::byte>>(pack.bytes);
  REIGEN_SDK_RETURN_IF_ERROR(FetchOnHost(
      lane, {.device = pack.tensor, .host = packed->data(), .bytes = pack.bytes,
             .layout = pack.layout}));
  const CuResult copied =
      api_.copy_to_device(pack.packed, packed->data(), pack.bytes, lane.stream);
  Result ended = Drain(lane);
  KeepIfTouched(packed);
  REIGEN_SDK_RETURN_IF_ERROR(CheckWork("cuMemcpyHtoDAsync", copied));
  return ended;
}

Result Device::UnpackOnHost(const Lane& lane, const DevicePack& pack) {
  const auto packed = std::make_shared<std::vector<std::byte>>(pack.bytes);
  const CuResult copied = api_.copy_to_host(packed->data(), pack.packed, pack.bytes, lane.stream);
  Result ended = Drain(lane);
  KeepIfTouched(packed);
  REIGEN_SDK_RETURN_IF_ERROR(CheckWork("cuMemcpyDtoHAsync", copied));
  REIGEN_SDK_RETURN_IF_ERROR(std::move(ended));
  return SendOnHost(lane, {.device = pack.tensor, .host = packed->data(), .bytes = pack.bytes,
                           .layout = pack.layout});
}

Result Device::StartCommand(const Command& command, std::unique_ptr<Event>* end) {
  CommandPlan plan;
  REIGEN_SDK_RETURN_IF_ERROR(MakeCommandPlan(command, has_kernels(), &plan));
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  const std::lock_guard lock(commands_.mutex);
  Result started = RunCommand(commands_, plan);
  if (started.ok()) started = Record(commands_.stream, true, end);
  if (!started.ok()) static_cast<void>(Drain(commands_).ok());
  return started;
}

Result Device::StartMirror(CuAddress from, void* to, size_t bytes, bool pinned,
                           std::unique_ptr<Event>* end) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  const std::lock_guard lock(commands_.mutex);
  // The driver itself waits for the stream in copies to pageable memory, without limit.
  Result started = pinned ? Ok() : Drain(commands_);
  if (started.ok()) {
    started = CheckWork("cuMemcpyDtoHAsync", api_.copy_to_host(to, from, bytes, commands_.stream));
  }
  if (started.ok()) started = Record(commands_.stream, true, end);
  if (!started.ok()) static_cast<void>(Drain(commands_).ok());
  return started;
}

// Of one range, between the lane's scratch and the memory.
PackBatch Device::PeekBatch(CuAddress memory, size_t bytes, bool to_memory) const {
  PackBatch batch = {};
  batch.range = commands_.scratch;
  batch.item_count = 1;
  batch.to_tensors = to_memory ? 1 : 0;
  batch.items[0] = {.tensor = memory, .packed = 0, .bytes = static_cast<uint32_t>(bytes)};
  return batch;
}

// Copies to and from pageable memory have been done when the call returns.
Result Device::Peek(CuAddress from, std::span<std::byte> to) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  const std::lock_guard lock(commands_.mutex);
  const PackBatch batch = PeekBatch(from, to.size(), false);
  REIGEN_SDK_RETURN_IF_ERROR(CheckWork(kernels_->Pack(batch, commands_.stream)));
  REIGEN_SDK_RETURN_IF_ERROR(Drain(commands_));
  return CheckWork("cuMemcpyDtoHAsync", api_.copy_to_host(to.data(), commands_.scratch, to.size(),
                                                          commands_.stream));
}

Result Device::Poke(CuAddress to, std::span<const std::byte> from) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  const std::lock_guard lock(commands_.mutex);
  REIGEN_SDK_RETURN_IF_ERROR(Drain(commands_));
  REIGEN_SDK_RETURN_IF_ERROR(
      CheckWork("cuMemcpyHtoDAsync", api_.copy_to_device(commands_.scratch, from.data(),
                                                         from.size(), commands_.stream)));
  const PackBatch batch = PeekBatch(to, from.size(), true);
  REIGEN_SDK_RETURN_IF_ERROR(CheckWork(kernels_->Pack(batch, commands_.stream)));
  return Drain(commands_);
}

Result Device::RunCommand(const Lane& lane, const CommandPlan& plan) {
  for (const ReduceBatch& batch : plan.reductions) {
    REIGEN_SDK_RETURN_IF_ERROR(CheckWork(kernels_->Reduce(plan.dtype, batch, lane.stream)));
  }
  REIGEN_SDK_RETURN_IF_ERROR(CopyAll(lane, plan.first_copies, true));
  return CopyAll(lane, plan.copies, true);
}

}  // namespace reigen::sdk::cuda
