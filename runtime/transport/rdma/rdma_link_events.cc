// The half of RdmaLink that deals with what has ended or come.
#include <array>
#include <cstring>
#include <string>

#include "runtime/transport/rdma/path.h"
#include "runtime/transport/rdma/rdma_limits.h"
#include "runtime/transport/rdma/rdma_link.h"
#include "runtime/transport/rdma/words.h"

namespace reigen::transport::rdma {

Status RdmaLink::TakeCompletions(Time now) {
  std::array<WorkCompletion, kPollBatch> batch;
  for (size_t taken = 0; taken < kPollPerTurn;) {
    const StatusOr<size_t> count = PollQueues(batch);
    if (!count.ok()) return Annotate(count.status(), queues_->path(0) + " (rdma)");
    for (size_t i = 0; i < *count; ++i) REIGEN_RETURN_IF_ERROR(OnCompletion(batch[i]));
    if (*count == 0) return OkStatus();
    taken += *count;
    spin_until_ = now + context_.options.spin;
  }
  unfinished_ = true;
  return OkStatus();
}

StatusOr<size_t> RdmaLink::PollQueues(std::span<WorkCompletion> out) {
  REIGEN_ASSIGN_OR_RETURN(const size_t count, queues_->Poll(out));
  if (local_ == nullptr) return count;
  REIGEN_ASSIGN_OR_RETURN(const size_t own, local_->Poll(out.subspan(count)));
  return count + own;
}

Status RdmaLink::Arm() {
  REIGEN_RETURN_IF_ERROR(queues_->Arm());
  return local_ != nullptr ? local_->Arm() : OkStatus();
}

Status RdmaLink::OnCompletion(const WorkCompletion& completion) {
  const WorkId id = WorkId::Decode(completion.id);
  const Status status = Handle(id, completion);
  if (status.ok()) return status;
  const std::string path = id.is_local() ? local_->path(id.queue) : queues_->path(id.queue);
  return Annotate(status, path + " (rdma)");
}

Status RdmaLink::Handle(const WorkId& id, const WorkCompletion& completion) {
  if (completion.status != WorkStatus::kSuccess) {
    if (id.is_local()) local_->Abandon();
    if (state_ == State::kDraining) return OkStatus();
    return DescribeCompletion(completion, Name(id.kind),
                              PlanRetries(context_.options.retry_budget).total());
  }
  switch (id.kind) {
    case WorkKind::kControlSend: {
      const std::optional<Frame> frame = queues_->control().OnSent(id.value);
      if (frame) core_.OnSent(*frame);
      return OkStatus();
    }
    case WorkKind::kControlReceive:
      return OnControl(id.value, completion.bytes);
    case WorkKind::kDataSend:
      return OnDataSent(id.queue, id.value);
    case WorkKind::kDataReceive:
      return OnNotice(id.queue, completion.immediate);
    case WorkKind::kPlacing:
    case WorkKind::kReadBack:
      OnLocal(id);
      return OkStatus();
  }
  return Internal("a completion of an unknown kind");
}

// Events carry the numbers of queues, which only together with their device are those of one link.
void RdmaLink::OnAsyncEvent(const Device& device, const AsyncEvent& event) {
  if (state_ != State::kReady) return;
  std::string path;
  if (const auto queue = queues_->Hit(device, event)) {
    path = queues_->path(*queue);
  } else if (local_ != nullptr) {
    if (const auto rail = local_->Hit(device, event)) path = local_->path(*rail);
  }
  if (!path.empty()) Drain(Internal(path + " (rdma): " + event.text), /*closed_here=*/false);
}

Status RdmaLink::OnControl(uint64_t slot, uint32_t bytes) {
  REIGEN_ASSIGN_OR_RETURN(const ControlQueue::Received received,
                          queues_->control().OnReceived(slot, bytes));
  if (received.has_frame) REIGEN_RETURN_IF_ERROR(OnControlFrame(received));
  if (state_ != State::kReady) return OkStatus();
  return queues_->control().Release(slot);
}

Status RdmaLink::OnControlFrame(const ControlQueue::Received& received) {
  const Frame& frame = received.frame;
  if (frame.kind == FrameKind::kData && frame.length > kEagerBytes) return OnAnnounced(frame);
  REIGEN_ASSIGN_OR_RETURN(const std::span<std::byte> into, core_.OnFrame(frame, received.place));
  if (frame.kind == FrameKind::kSendMismatch) landings_.Drop(frame.tag);
  if (frame.kind == FrameKind::kData) {
    const auto landed = landings_.Drop(frame.tag);
    if (!landed) return InvalidArgument("data without a credit: " + ToString(frame.tag));
    if (landed->use != nullptr && landed->use->device) {
      return InvalidArgument("bytes for a GPU's memory came along instead of being written: " +
                             ToString(frame.tag));
    }
  }
  if (frame.PayloadBytes() == 0) return OkStatus();
  if (!received.payload.empty()) {
    std::memcpy(into.data(), received.payload.data(), received.payload.size());
  }
  core_.OnPayload(frame);
  return OkStatus();
}

Status RdmaLink::OnNotice(uint8_t queue, uint32_t immediate) {
  REIGEN_ASSIGN_OR_RETURN(const auto landed,
                          landings_.Arrived(immediate, queues_->local_rail(queue)));
  if (landed) REIGEN_RETURN_IF_ERROR(OnLanded(*landed));
  if (state_ != State::kReady) return OkStatus();
  return queues_->PostDataReceive(queue);
}

// The frames that the data must not overtake have been taken. Of the data it says nothing.
Status RdmaLink::OnAnnounced(const Frame& frame) {
  REIGEN_ASSIGN_OR_RETURN(const auto landed, landings_.Announced(frame.tag, frame.length));
  return landed ? OnLanded(*landed) : OkStatus();
}

// All bytes are written.
Status RdmaLink::OnLanded(const Landings::Landed& landed) {
  Frame frame;
  frame.kind = FrameKind::kData;
  frame.length = landed.bytes;
  frame.tag = landed.tag;
  REIGEN_ASSIGN_OR_RETURN(const std::span<std::byte> into, core_.OnFrame(frame));
  if (into.empty() || landed.use == nullptr || !landed.use->read_back) {
    if (!into.empty()) core_.OnPayload(frame);
    return OkStatus();
  }
  if ((landed.rails & ~landed.use->rails.registered) != 0) {
    return InvalidArgument("the peer wrote by a port that has not the memory: " +
                           ToString(frame.tag));
  }
  return local().ReadBack(frame, into, landed.rails, landed.use);
}

void RdmaLink::OnLocal(const WorkId& id) {
  const auto done = local_->OnCompletion(id);
  if (!done) return;
  if (done->placed) {
    core_.OnPlaced(done->frame.tag);
  } else {
    core_.OnPayload(done->frame);
  }
}

Loopback& RdmaLink::local() {
  if (local_ == nullptr) local_ = std::make_unique<Loopback>(&context_);
  return *local_;
}

Status RdmaLink::OnDataSent(uint8_t queue, uint64_t message) {
  const auto ended = queues_->writer().OnSent(queue, message);
  if (!ended) return OkStatus();
  if (ended->announce) {
    announcements_.push_back(ended->frame);
  } else {
    core_.OnSent(ended->frame);
  }
  return OkStatus();
}

}  // namespace reigen::transport::rdma
