#include "runtime/transport/rdma/rdma_link.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/transport/rdma/rdma_limits.h"

namespace reigen::transport::rdma {

RdmaLink::RdmaLink(RdmaContext* context, const Peer& peer)
    : context_(*context),
      peer_(peer),
      core_(peer.name, context->room.max_receives),
      connector_(std::make_unique<Connector>(context, peer)) {
  REIGEN_CHECK(peer.host != context_.options.host, "a link leads to another host");
  context_.links.push_back(this);
}

RdmaLink::~RdmaLink() {
  Close();
  queues_.reset();
  local_.reset();
  std::erase(context_.links, this);
}

Status RdmaLink::PostSend(std::span<const std::byte> data, const Tag& tag, uint64_t cookie) {
  const Status status = core_.PostSend(data, tag, cookie, OwnerOf(data));
  unfinished_ = unfinished_ || state_ == State::kReady || core_.has_completions();
  return status;
}

Status RdmaLink::PostRecv(std::span<std::byte> data, const Tag& tag, uint64_t cookie) {
  const Status status = core_.PostRecv(data, tag, cookie, OwnerOf(data));
  unfinished_ = unfinished_ || state_ == State::kReady || core_.has_completions();
  return status;
}

// It makes a difference for what may be copied only.
Owner RdmaLink::OwnerOf(std::span<const std::byte> data) const {
  return data.size() > kEagerBytes || context_.memory->IsHosts(data) ? Owner::kHost
                                                                     : Owner::kDevice;
}

void RdmaLink::Close() { Drain(Aborted("closed here"), /*closed_here=*/true); }

void RdmaLink::Progress(Time now) {
  unfinished_ = false;
  if (state_ == State::kConnecting) Connecting(now);
  if (state_ == State::kReady) Move(now);
  if (state_ == State::kDraining) Draining(now);
  for (const std::string& notice : core_.TakeNotices()) REIGEN_WARN("{}", notice);
}

void RdmaLink::Connecting(Time now) {
  const StatusOr<bool> done = connector_->Progress(now);
  if (!done.ok()) {
    const std::string ends = context_.options.name + " -> " + peer_.name + " (rdma)";
    return Drain(Annotate(done.status(), ends), /*closed_here=*/false);
  }
  if (!*done) return;
  queues_ = connector_->TakeQueues();
  side_ = connector_->TakeSideChannel();
  connector_.reset();
  state_ = State::kReady;
  REIGEN_INFO("link over rdma, {}", queues_->Summary());
}

void RdmaLink::Move(Time now) {
  core_.Tick(now);
  Status status = TakeCompletions(now);
  if (status.ok()) status = PushOut();
  if (status.ok() && !armed_ && !busy()) {
    status = Annotate(Arm(), queues_->path(0) + " (rdma)");
    armed_ = status.ok();
    // What came before the queue was armed is not told.
    if (status.ok()) status = TakeCompletions(now);
    if (status.ok()) status = PushOut();
  }
  if (status.ok() && !unfinished_) status = CheckAnswers(now);
  if (!status.ok()) return Drain(status, /*closed_here=*/false);
  const auto message = side_->Receive();
  if (message.ok() && !*message) return;
  closed_there_ = side_->closed();
  Drain(Annotate(message.ok() ? InvalidArgument("a set-up message in the middle of the work")
                              : message.status(),
                 queues_->path(0) + " (rdma)"),
        /*closed_here=*/false);
}

// Whether to poll again rather than to sleep.
bool RdmaLink::busy() const { return unfinished_ || context_.now < spin_until_; }

Status RdmaLink::PushOut() {
  const Status status = Push();
  if (local_ != nullptr && local_->TakeMade()) armed_ = false;
  return Annotate(status, queues_->path(0) + " (rdma)");
}

Status RdmaLink::Push() {
  ControlQueue& control = queues_->control();
  while (control.CanSend() && !announcements_.empty()) {
    OutFrame out;
    out.frame = announcements_.front();
    announcements_.pop_front();
    REIGEN_RETURN_IF_ERROR(control.Send(out, nullptr));
  }
  while (control.CanSend()) {
    const std::optional<OutFrame> out = core_.NextFrame(/*channel_zero=*/true);
    if (!out) break;
    REIGEN_RETURN_IF_ERROR(SendFrame(*out));
  }
  REIGEN_RETURN_IF_ERROR(queues_->writer().Pump());
  REIGEN_RETURN_IF_ERROR(PushLocal());
  return control.GiveBack();
}

Status RdmaLink::PushLocal() {
  for (const Placement& placement : core_.TakePlacements()) {
    const MemoryUse use = context_.memory->Find(placement.to);
    if (use == nullptr || !use->device) {
      return Internal("a receive into memory that is not registered");
    }
    REIGEN_RETURN_IF_ERROR(local().Place(placement, use, queues_->data_rails()));
  }
  return local_ != nullptr ? local_->Pump() : OkStatus();
}

Status RdmaLink::SendFrame(const OutFrame& out) {
  ControlQueue& control = queues_->control();
  switch (out.frame.kind) {
    case FrameKind::kCredit: {
      REIGEN_ASSIGN_OR_RETURN(const Place place, Grant(out));
      return control.Send(out, &place);
    }
    case FrameKind::kRecvMismatch:
      landings_.Drop(out.frame.tag);
      return control.Send(out, nullptr);
    case FrameKind::kData: {
      const bool copied = out.owner == Owner::kHost && !out.place.write;
      if (out.frame.length > kEagerBytes || (out.frame.length > 0 && !copied)) {
        return WriteData(out);
      }
      return control.Send(out, nullptr);
    }
    default:
      return control.Send(out, nullptr);
  }
}

// Where the peer may write; nowhere if the receive has ended meanwhile.
StatusOr<Place> RdmaLink::Grant(const OutFrame& out) {
  Place place;
  if (out.target.size() != out.frame.length) return place;
  MemoryUse use;
  if (!out.target.empty()) use = context_.memory->Find(out.target);
  if (use != nullptr) {
    place.address = reinterpret_cast<uint64_t>(out.target.data());
    place.keys = use->remote_keys;
    place.rails = use->rails;
    place.write = use->device;
  } else if (out.frame.length > kEagerBytes || !context_.memory->IsHosts(out.target)) {
    return Internal("a receive into memory that is not registered");
  }
  place.slot = landings_.Open(out.frame.tag, out.frame.length, std::move(use));
  return place;
}

Status RdmaLink::WriteData(const OutFrame& out) {
  DataWriter::Message message;
  message.frame = out.frame;
  message.payload = out.payload;
  message.place = out.place;
  message.announce = out.pinned;
  message.use = context_.memory->Find(out.payload);
  if (message.use == nullptr) return Internal("a send from memory that is not registered");
  if (message.use->device && message.place.write) TellIfFar(*message.use, message.place);
  queues_->writer().Add(std::move(message));
  return OkStatus();
}

// The two ends choose their near ports each for itself.
void RdmaLink::TellIfFar(const Registration& source, const Place& target) {
  if (told_far_ || queues_->writer().JoinsNear(source.rails, target.rails)) return;
  told_far_ = true;
  REIGEN_WARN("rdma: {}: no queue joins a port near to the GPU here with one near to the GPU there; "
              "its memory goes by ports that are far from one of them, which is slower (ports are "
              "joined by name or in order; --rdma-devices sets it)", queues_->path(1));
}

void RdmaLink::Drain(const Status& why, bool closed_here) {
  if (state_ == State::kEnded || (state_ == State::kDraining && !closed_here)) return;
  closed_here_ = closed_here;
  if (why_.ok()) {
    why_ = why;
    if (!closed_here && !closed_there_) REIGEN_WARN("link lost: {}", Message(why));
  }
  if (side_ != nullptr) {
    // The other end learns at once, and why; it may have been told by its own device.
    if (!closed_here) (void)side_->Send(Bye{Message(why)});
    context_.farewell.Add(side_->TakeFd(), context_.now);
    side_.reset();
  }
  connector_.reset();
  if (queues_ == nullptr) return End();
  if (state_ == State::kDraining) return;
  state_ = State::kDraining;
  drain_deadline_ = context_.now + kDrainDeadline;
  unfinished_ = true;
  const Status status = queues_->SetError();
  if (!status.ok()) {
    REIGEN_WARN("rdma: {}", Message(status));
    End();
  }
}

void RdmaLink::Draining(Time now) {
  std::array<WorkCompletion, kPollBatch> batch;
  for (;;) {
    const StatusOr<size_t> count = PollQueues(batch);
    if (!count.ok()) return End();
    for (size_t i = 0; i < *count; ++i) {
      if (closed_here_) continue;
      const Status status = OnCompletion(batch[i]);
      if (!status.ok()) return End();
    }
    if (*count == 0) break;
  }
  if (!closed_here_ && !PushLocal().ok()) return End();
  if (Drained()) return End();
  if (now < drain_deadline_) return;
  REIGEN_WARN("rdma: queues to {} did not give back what was posted; destroyed", peer_.name);
  End();
}

bool RdmaLink::Drained() {
  if (!queues_->drained()) return false;
  if (local_ == nullptr) return true;
  // What came before the other end closed counts once it is read back.
  if (!closed_here_ && !local_->idle()) return false;
  return local_->drained() || !local_->SetError().ok();
}

// No queue pair of the link is left after this, so that buffers are their owners'.
void RdmaLink::End() {
  state_ = State::kEnded;
  queues_.reset();
  local_.reset();
  if (closed_there_ && !closed_here_) {
    if (core_.idle()) {
      REIGEN_INFO("link closed: {}", Message(why_));
    } else {
      REIGEN_WARN("link lost: {}", Message(why_));
    }
  }
  landings_.Clear();
  if (closed_here_) {
    core_.Close();
  } else {
    core_.Fail(why_);
  }
  unfinished_ = core_.has_completions();
}

std::optional<Time> RdmaLink::NextDeadline() const {
  if (unfinished_) return Time{};
  switch (state_) {
    case State::kConnecting:
      return connector_->NextDeadline();
    case State::kReady:
      if (side_->readable() || !armed_) return Time{};
      if (!queues_->sends_out() && (local_ == nullptr || local_->idle())) return core_.NextDeadline();
      return std::min(core_.NextDeadline().value_or(Time::max()),
                      context_.now + silence_limit() / kLooks);
    case State::kDraining:
      return context_.now + milliseconds(1);
    case State::kEnded:
      break;
  }
  return std::nullopt;
}

}  // namespace reigen::transport::rdma
