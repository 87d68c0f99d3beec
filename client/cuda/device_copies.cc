// The device's work: copies, and launches of the kernels.
#include <algorithm>
#include <utility>
#include <vector>

#include "client/cuda/current.h"
#include "client/cuda/device.h"

namespace reigen::sdk::cuda {

Result Device::StartToHost(std::span<const Copy> copies, bool pinned,
                           std::unique_ptr<Event>* end) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  const PackPlan plan = MakePackPlan(copies, fetching_.scratch, scratch_bytes(), false);
  const std::lock_guard lock(fetching_.mutex);
  // The driver itself waits for the stream in copies to pageable memory, without limit.
  if (!pinned || !plan.on_host.empty()) REIGEN_SDK_RETURN_IF_ERROR(Drain(fetching_));
  Result fetched = Fetch(fetching_, plan);
  if (fetched.ok()) fetched = Record(fetching_.stream, true, end);
  // Copies that were started still write.
  if (!fetched.ok()) static_cast<void>(Drain(fetching_).ok());
  return fetched;
}

Result Device::Fetch(const Lane& lane, const PackPlan& plan) {
  for (const PackRound& round : plan.rounds) {
    REIGEN_SDK_RETURN_IF_ERROR(Launch(lane, round));
    for (const ScratchCopy& copy : round.copies) {
      REIGEN_SDK_RETURN_IF_ERROR(
          CheckWork("cuMemcpyDtoHAsync", api_.copy_to_host(copy.host, lane.scratch + copy.scratch,
                                                           copy.bytes, lane.stream)));
    }
  }
  for (const Copy& copy : plan.direct) {
    REIGEN_SDK_RETURN_IF_ERROR(
        CheckWork("cuMemcpyDtoHAsync",
              api_.copy_to_host(copy.host, copy.device, copy.bytes, lane.stream)));
  }
  for (const Copy& copy : plan.on_host) REIGEN_SDK_RETURN_IF_ERROR(FetchOnHost(lane, copy));
  return Ok();
}

Result Device::Launch(const Lane& lane, const PackRound& round) {
  for (const PackBatch& batch : round.packs) {
    REIGEN_SDK_RETURN_IF_ERROR(CheckWork(kernels_->Pack(batch, lane.stream)));
  }
  for (const StridedBatch& batch : round.strided) {
    REIGEN_SDK_RETURN_IF_ERROR(CheckWork(kernels_->Pack(batch, lane.stream)));
  }
  return Ok();
}

// The whole range that its elements lie in, then the elements out of that.
Result Device::FetchOnHost(const Lane& lane, const Copy& copy) {
  const int64_t begin = copy.layout->begin();
  const auto range =
      std::make_shared<std::vector<std::byte>>(static_cast<size_t>(copy.layout->end() - begin));
  const CuResult copied = api_.copy_to_host(
      range->data(), copy.device + static_cast<uint64_t>(begin), range->size(), lane.stream);
  Result ended = Drain(lane);
  KeepIfTouched(range);
  REIGEN_SDK_RETURN_IF_ERROR(CheckWork("cuMemcpyDtoHAsync", copied));
  REIGEN_SDK_RETURN_IF_ERROR(std::move(ended));
  copy.layout->Gather(range->data() - begin, copy.host);
  return Ok();
}

// Only of layouts without gaps (a permutation of dimensions): what lies between
// elements may be written by others.
Result Device::SendOnHost(const Lane& lane, const Copy& copy) {
  const int64_t begin = copy.layout->begin();
  const auto range =
      std::make_shared<std::vector<std::byte>>(static_cast<size_t>(copy.layout->end() - begin));
  copy.layout->Scatter(copy.host, range->data() - begin);
  const CuResult copied = api_.copy_to_device(copy.device + static_cast<uint64_t>(begin),
                                              range->data(), range->size(), lane.stream);
  Result ended = Drain(lane);
  KeepIfTouched(range);
  REIGEN_SDK_RETURN_IF_ERROR(CheckWork("cuMemcpyHtoDAsync", copied));
  return ended;
}

Result Device::ToDevice(std::span<const Copy> copies, std::unique_ptr<Event>* end) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  const PackPlan plan = MakePackPlan(copies, sending_.scratch, scratch_bytes(), true);
  const std::lock_guard lock(sending_.mutex);
  Result sent = Send(sending_, plan);
  if (sent.ok()) sent = Record(sending_.stream, true, end);
  // Copies that were started still read the host memory: the caller may free it.
  if (!sent.ok()) static_cast<void>(Drain(sending_).ok());
  return sent;
}

Result Device::Send(const Lane& lane, const PackPlan& plan) {
  for (const Copy& copy : plan.direct) {
    REIGEN_SDK_RETURN_IF_ERROR(
        CheckWork("cuMemcpyHtoDAsync",
              api_.copy_to_device(copy.device, copy.host, copy.bytes, lane.stream)));
  }
  for (const PackRound& round : plan.rounds) {
    for (const ScratchCopy& copy : round.copies) {
      REIGEN_SDK_RETURN_IF_ERROR(
          CheckWork("cuMemcpyHtoDAsync", api_.copy_to_device(lane.scratch + copy.scratch, copy.host,
                                                             copy.bytes, lane.stream)));
    }
    REIGEN_SDK_RETURN_IF_ERROR(Launch(lane, round));
  }
  for (const Copy& copy : plan.on_host) REIGEN_SDK_RETURN_IF_ERROR(SendOnHost(lane, copy));
  return Ok();
}

Result Device::Follow(CuStream stream, const Event& event) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  REIGEN_SDK_RETURN_IF_ERROR(CheckCapture(stream));
  return CheckWork("cuStreamWaitEvent", api_.stream_wait_event(stream, event.get(), 0));
}

Result Device::Reduce(DataType dtype, const ReduceBatch& batch,
                      std::span<const ReduceItem> items, CuStream stream) {
  const Current current(*this);
  REIGEN_SDK_RETURN_IF_ERROR(Result(current.result()));
  ReduceBatch part = batch;
  while (!items.empty()) {
    part.item_count = static_cast<uint32_t>(std::min<size_t>(items.size(), kMaxReduceItems));
    std::copy_n(items.begin(), part.item_count, part.items);
    items = items.subspan(part.item_count);
    REIGEN_SDK_RETURN_IF_ERROR(CheckWork(kernels_->Reduce(dtype, part, stream)));
  }
  return Ok();
}

}  // namespace reigen::sdk::cuda
