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

// After all completions that are here were taken. Devices are not asked: who waits for one that has
// stopped is not heard of meanwhile.
Status RdmaLink::CheckAnswers(Time now) {
  const Duration limit = silence_limit();
  if (const auto queue = queues_->Unanswered(now, limit)) {
    const Rail& rail = *context_.rails[queues_->local_rail(*queue)];
    return Annotate(DescribeSilence(limit, rail.ToldDown(now, limit)),
                    queues_->path(*queue) + " (rdma)");
  }
  if (local_ == nullptr) return OkStatus();
  if (const auto rail = local_->Unanswered(now, limit)) {
    return Annotate(DescribeSilence(limit, context_.rails[*rail]->ToldDown(now, limit)),
                    local_->path(*rail) + " (rdma)");
  }
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
  if (completion.status != WorkStatus::kSuccess) return OnBadCompletion(id, completion);
  const Status status = Handle(id, completion);
  return status.ok() ? status : Annotate(status, PathOf(id) + " (rdma)");
}

std::string RdmaLink::PathOf(const WorkId& id) const {
  return id.is_local() ? local_->path(id.queue) : queues_->path(id.queue);
}

Status RdmaLink::OnBadCompletion(const WorkId& id, const WorkCompletion& completion) {
  if (id.is_local()) local_->Abandon();
  if (state_ == State::kDraining) return OkStatus();
  const size_t rail = id.is_local() ? id.queue : queues_->local_rail(id.queue);
  const Device& device = context_.rails[rail]->device();
  // The end that broke the rules sees no more than a flush, and an event that says why: it is told
  // elsewhere and may not be taken yet.
  for (const auto& watch : context_.devices) {
    if (watch->device().get() != &device) continue;
    const std::vector<AsyncEvent>& events = watch->LookAhead();
    for (const AsyncEvent& event : events) context_.TellRails(device, event);
    if (completion.status != WorkStatus::kFlushed) continue;  // others say more than an event
    for (const AsyncEvent& event : events) REIGEN_RETURN_IF_ERROR(ReadEvent(device, event));
  }
  const Duration retried = PlanRetries(context_.options.retry_budget).total();
  return Annotate(
      DescribeCompletion(completion, Name(id.kind), retried, context_.PortDown(rail)),
      PathOf(id) + " (rdma)");
}

Status RdmaLink::Handle(const WorkId& id, const WorkCompletion& completion) {
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

void RdmaLink::OnAsyncEvent(const Device& device, const AsyncEvent& event) {
  if (state_ != State::kReady) return;
  const Status status = ReadEvent(device, event);
  if (!status.ok()) Drain(status, /*closed_here=*/false);
}

// An error if it ends this link. Events carry the numbers of queues, which only together with
// their device are those of one link.
Status RdmaLink::ReadEvent(const Device& device, const AsyncEvent& event) {
  std::string path;
  size_t rail = 0;
  if (const auto queue = queues_->Hit(device, event)) {
    path = queues_->path(*queue);
    rail = queues_->local_rail(*queue);
  } else if (const auto own = local_ != nullptr ? local_->Hit(device, event) : std::nullopt) {
    path = local_->path(*own);
    rail = *own;
  } else {
    return OkStatus();
  }
  path += " (rdma): ";
  const std::string port_down =
      event.kind == AsyncKind::kQpFatal ? context_.PortDown(rail) : std::string();
  if (port_down.empty()) return Internal(path + event.text);
  return Unavailable(path + port_down + ", and the path has gone with it (" + event.text + ")");
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
