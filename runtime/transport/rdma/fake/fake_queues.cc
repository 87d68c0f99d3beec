#include "runtime/transport/rdma/fake/fake_queues.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "runtime/base/check.h"

namespace reigen::transport::rdma {
namespace {

// Takes one of a countdown; true when it is used up.
bool Expired(std::optional<size_t>& countdown) {
  if (!countdown) return false;
  if ((*countdown)-- > 0) return false;
  countdown.reset();
  return true;
}

}  // namespace

FakeCompletionQueue::FakeCompletionQueue(FakeFabric* fabric, FakeDeviceState* device,
                                         size_t entries)
    : fabric_(*fabric),
      device_(*device),
      entries_(entries),
      number_(++device->last_completion_queue) {
  ++device_.completion_queues;
}

FakeCompletionQueue::~FakeCompletionQueue() {
  for (const Entry& entry : completions_) fabric_.Land(entry.before);
  --device_.completion_queues;
}

StatusOr<size_t> FakeCompletionQueue::Poll(std::span<WorkCompletion> out) {
  REIGEN_RETURN_IF_ERROR(device_.poll_status);
  const size_t count = device_.withhold ? 0 : std::min(out.size(), completions_.size());
  for (size_t i = 0; i < count; ++i) {
    out[i] = completions_.front().completion;
    fabric_.Land(completions_.front().before);
    completions_.pop_front();
  }
  return count;
}

Status FakeCompletionQueue::Arm() {
  REIGEN_RETURN_IF_ERROR(device_.arm_status);
  if (auto before = std::exchange(device_.before_arm, nullptr)) before();
  armed_ = true;
  return OkStatus();
}

void FakeCompletionQueue::Push(const WorkCompletion& completion, std::vector<FakeWrite> before) {
  completions_.push_back({completion, std::move(before)});
  REIGEN_CHECK(completions_.size() <= entries_, "the completion queue overflows");
  if (!armed_) return;
  armed_ = false;
  const uint64_t one = 1;
  REIGEN_CHECK(write(device_.completion_event.get(), &one, sizeof one) == sizeof one);
}

FakeQueuePair::FakeQueuePair(FakeFabric* fabric, FakeCompletionQueue* queue, const QpLimits& limits)
    : fabric_(*fabric),
      queue_(*queue),
      device_(queue->device()),
      limits_(limits),
      number_(++fabric->last_queue_pair_) {
  fabric_.queue_pairs_[number_] = this;
  ++device_.queue_pairs;
}

FakeQueuePair::~FakeQueuePair() {
  fabric_.dropped_ += static_cast<size_t>(
      std::erase_if(fabric_.held_, [this](const FakeFabric::Held& held) { return held.from == this; }));
  fabric_.Land(written_);
  fabric_.queue_pairs_.erase(number_);
  --device_.queue_pairs;
}

Posted FakeQueuePair::PostSend(std::span<const SendWork> work) {
  Posted posted;
  for (const SendWork& each : work) {
    if (Expired(device_.sends_until_post_fails)) {
      posted.error = ENOMEM;
      return posted;
    }
    REIGEN_CHECK(state_ != State::kInit, "a send before Connect");
    ++sends_out_;
    ++posted.count;
    if (state_ == State::kError) {
      CompleteSend(each, WorkStatus::kFlushed);
    } else if (fabric_.hold_ || (fabric_.hold_reads_ && each.opcode == Opcode::kRead)) {
      FakeFabric::Held& held = fabric_.held_.emplace_back();
      held.from = this;
      held.work = each;
      if (each.inlined) {
        held.inlined.assign(each.local.address, each.local.address + each.local.bytes);
        held.work.local.address = held.inlined.data();
      }
    } else {
      fabric_.Execute(*this, each);
    }
  }
  return posted;
}

Posted FakeQueuePair::PostReceive(std::span<const ReceiveWork> work) {
  Posted posted;
  for (const ReceiveWork& each : work) {
    if (Expired(device_.receives_until_post_fails)) {
      posted.error = ENOMEM;
      return posted;
    }
    REIGEN_CHECK(receives_.size() < limits_.receive_wrs, "the receive queue overflows");
    ++posted.count;
    if (state_ == State::kError) {
      CompleteReceive({.id = each.id, .status = WorkStatus::kFlushed});
    } else {
      receives_.push_back(each);
    }
  }
  return posted;
}

Status FakeQueuePair::Connect(const PathAttributes& path) {
  REIGEN_CHECK(state_ == State::kInit, "Connect once");
  Status status = std::exchange(device_.next_connect_status, OkStatus());
  REIGEN_RETURN_IF_ERROR(status);
  path_ = path;
  state_ = State::kConnected;
  device_.paths.push_back(path);
  return OkStatus();
}

Status FakeQueuePair::SetError() {
  REIGEN_RETURN_IF_ERROR(device_.set_error_status);
  Break();
  return OkStatus();
}

// Sends that are held end first, then the receives.
void FakeQueuePair::Break() {
  if (state_ == State::kError) return;
  state_ = State::kError;
  fabric_.Land(std::exchange(written_, {}));
  if (device_.deaf) return;
  for (auto at = fabric_.held_.begin(); at != fabric_.held_.end();) {
    if (at->from != this) {
      ++at;
      continue;
    }
    ++fabric_.dropped_;
    CompleteSend(at->work, WorkStatus::kFlushed);
    at = fabric_.held_.erase(at);
  }
  while (!receives_.empty()) {
    const uint64_t id = receives_.front().id;
    receives_.pop_front();
    CompleteReceive({.id = id, .status = WorkStatus::kFlushed});
  }
}

void FakeQueuePair::CompleteSend(const SendWork& work, WorkStatus status) {
  --sends_out_;
  queue_.Push({.id = work.id,
               .status = status,
               .qp_number = number_,
               .vendor_error = status == WorkStatus::kSuccess ? 0u : 77u,
               .opcode = work.opcode});
}

void FakeQueuePair::CompleteReceive(const WorkCompletion& completion) {
  WorkCompletion from_here = completion;
  from_here.qp_number = number_;
  if (state_ == State::kConnected && device_.next_receive_status) {
    from_here.status = *std::exchange(device_.next_receive_status, std::nullopt);
    from_here.vendor_error = 77;
  }
  queue_.Push(from_here, std::exchange(written_, {}));
}

}  // namespace reigen::transport::rdma
