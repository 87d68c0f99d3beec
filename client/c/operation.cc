#include "client/c/operation.h"

#include <utility>

#include "client/c/futex.h"
#include "runtime/base/check.h"

namespace reigen::sdk {

void Operation::End(Completion completion) {
  REIGEN_CHECK(state_.load() == kPending);
  completion_ = std::move(completion);
  state_.store(kEnded);
}

void Operation::EndOnDevice(std::unique_ptr<DeviceWork> work) {
  REIGEN_CHECK(state_.load() == kPending);
  device_work_ = std::move(work);
  state_.store(kDone);
}

void Operation::StartStaging(std::unique_ptr<DeviceWork> work) {
  device_work_ = std::move(work);
  staging_.store(1);
}

void Operation::EndStaging() {
  staging_.store(0);
  FutexWakeAll(staging_);
}

void Operation::PutOnHost(std::span<const size_t> payloads, Block block) {
  for (const size_t i : payloads) {
    Payload& payload = payloads_[i];
    payload.packed = block.data() + payload.offset;
    payload.offset += block.offset();
    payload.arena = block.file()->id();
    payload.device = 0;
  }
  block_.host = std::move(block);
}

void Operation::PutOnDevice(std::span<const size_t> payloads, DeviceBlock block) {
  for (const size_t i : payloads) {
    Payload& payload = payloads_[i];
    payload.device = block.address + payload.offset;
    payload.offset += block.offset;
    payload.arena = block.arena;
  }
  block_.device = std::move(block);
}

void Operation::Mirrored(Block block) {
  std::vector<size_t> mirrored;
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (payloads_[i].device == 0) continue;
    payloads_[i].offset -= block_.device->offset;
    mirrored.push_back(i);
  }
  block_.device.reset();
  PutOnHost(mirrored, std::move(block));
}

Sleep Operation::WaitStaged(Time deadline) {
  while (staging_.load() != 0) {
    const Sleep sleep = FutexWait(staging_, 1, deadline);
    if (sleep != Sleep::kWoken) return sleep;
  }
  return Sleep::kWoken;
}

void Operation::Deliver() {
  uint32_t state = kEnded;
  if (state_.compare_exchange_strong(state, kFinishing)) {
    if (completion_.result.ok()) CopyOut();
    EndDelivery();
  }
  // Another thread copies; no limit but that of its memcpy.
  while (!done()) FutexWait(state_, kFinishing, Time::max());
}

void Operation::EndDelivery() {
  payloads_.clear();
  block_ = PayloadBlock();
  state_.store(kDone);
  FutexWakeAll(state_);
}

Result Operation::Finish(Time deadline) {
  Deliver();
  if (device_work_ == nullptr || !completion_.result.ok()) return completion_.result;
  Result joined = device_work_->Join(request_);
  // A stream that captures a graph must not wait for what is none of the graph's.
  if (joined.code == REIGEN_FAILED_PRECONDITION) return WaitDelivered(deadline);
  if (joined.ok()) joined_.store(true);
  return joined;
}

Result Operation::WaitDelivered(Time deadline) {
  Deliver();
  if (device_work_ == nullptr || !completion_.result.ok()) return completion_.result;
  bool done = false;
  REIGEN_SDK_RETURN_IF_ERROR(device_work_->WaitDelivered(request_, deadline, &done));
  if (!done) return Fail(REIGEN_TIMEOUT, request_.name() + ": not done yet");
  joined_.store(true);
  return Ok();
}

void Operation::GiveUp() {
  uint32_t state = kEnded;
  if (state_.compare_exchange_strong(state, kFinishing)) return EndDelivery();
  Deliver();
  if (device_work_ == nullptr || joined_.load()) return;
  // If that fails the GPU is lost: whoever uses it next is told.
  static_cast<void>(WaitDelivered(Time::max()).ok());
}

void Operation::CopyOut() {
  if (device_work_ != nullptr) {
    completion_.result = device_work_->Deliver(request_, payloads_, std::move(block_));
    return;
  }
  for (size_t i = 0; i < payloads_.size(); ++i) {
    const RequestTensor& tensor = request_.tensors[i];
    if (tensor.output == nullptr) continue;
    const std::byte* packed = payloads_[i].packed;
    if (packed == nullptr) {
      if (completion_.inline_count != tensor.bytes) {
        completion_.result = Fail(REIGEN_INTERNAL, request_.TensorName(i) +
                                                       ": the worker returned " +
                                                       std::to_string(completion_.inline_count) +
                                                       " bytes, expected " +
                                                       std::to_string(tensor.bytes));
        return;
      }
      packed = completion_.inline_bytes.data();
    }
    tensor.out.Scatter(packed, tensor.output);
  }
}

}  // namespace reigen::sdk
