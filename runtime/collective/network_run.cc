#include "runtime/collective/network_run.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/collective/plan_check.h"
#include "runtime/transport/link.h"

namespace reigen::collective {
namespace {

uint64_t MostElements(const Layout& layout) {
  uint64_t most = 0;
  for (int q = 0; q < layout.parts(); ++q) {
    most = std::max(most, layout.SegmentElements(static_cast<uint32_t>(q), 0));
  }
  return most;
}

uint64_t TokenOf(size_t lane, int buffer, bool recv) {
  return lane << 2 | static_cast<uint64_t>(buffer) << 1 | (recv ? 1 : 0);
}

}  // namespace

NetworkRun::NetworkRun(Bucket moved, RunContext& shared)
    : Run(std::move(moved), shared),
      steps_(MakeSchedule(bucket().algorithm, static_cast<int>(bucket().hosts.size()),
                          bucket().self, bucket().root)),
      layout_(bucket().tensors,
              PartsOf(bucket().algorithm, static_cast<int>(bucket().hosts.size())),
              SegmentElements(bucket())),
      work_(MakeMemoryWork(bucket(), layout_, shared)),
      segments_(layout_.MaxSegments()) {
  const uint64_t most = MostElements(layout_);
  final_offset_ = TwoTypes(bucket()) ? Scratch::Rounded(most * ElementBytes(bucket().wire)) : 0;
  buffer_bytes_ = final_offset_ + most * ElementBytes(bucket().dtype);
  lanes_.resize(std::min<uint64_t>(2 * static_cast<uint64_t>(bucket().channels), segments_));
}

NetworkRun::~NetworkRun() {
  REIGEN_CHECK(posts_out_ == 0 && work_out() == 0, "its scratch is in use");
  for (Lane& lane : lanes_) GiveBackIfIdle(lane);
}

void NetworkRun::Advance() {
  for (Lane& lane : lanes_) {
    while (!failed() && (lane.running || StartLane(lane))) {
      AdvanceLane(lane);
      if (lane.running) break;
    }
    if (!lane.running || failed()) GiveBackIfIdle(lane);
  }
  if (next_segment_ == segments_ && running_ == 0) SetComplete();
}

bool NetworkRun::StartLane(Lane& lane) {
  if (next_segment_ == segments_ || !TakeBuffers(lane)) return false;
  lane.segment = next_segment_++;
  lane.step = 0;
  lane.held = 0;
  lane.state = {};
  lane.running = true;
  ++running_;
  return true;
}

// Both or none.
bool NetworkRun::TakeBuffers(Lane& lane) {
  if (lane.buffers[0].memory != nullptr) return true;  // kept from the last segment
  Scratch& scratch = work_->ScratchOf(NumberOf(lane));
  std::byte* const first = TakeBuffer(scratch);
  if (first == nullptr) return false;
  std::byte* const second = TakeBuffer(scratch);
  if (second == nullptr) {
    scratch.GiveBack(first);
    return false;
  }
  lane.buffers[0].memory = first;
  lane.buffers[1].memory = second;
  lane.scratch = &scratch;
  return true;
}

std::byte* NetworkRun::TakeBuffer(Scratch& scratch) {
  std::byte* memory = nullptr;
  if (oldest()) memory = scratch.TakeFromWindow(bucket().id.stream, buffer_bytes_);
  return memory != nullptr ? memory : scratch.TakeSurplus(buffer_bytes_);
}

void NetworkRun::GiveBackIfIdle(Lane& lane) {
  if (lane.buffers[0].memory == nullptr || !lane.idle()) return;
  for (LaneBuffer& buffer : lane.buffers) {
    lane.scratch->GiveBack(buffer.memory);
    buffer.memory = nullptr;
  }
  ++context().returns;
}

void NetworkRun::AdvanceLane(Lane& lane) {
  while (lane.step < steps_.size() && AdvanceStep(lane, steps_[lane.step])) {
    if (lane.state.outcome_ready) lane.held = 1 - lane.held;
    lane.state = {};
    ++lane.step;
  }
  if (lane.step < steps_.size() || !lane.idle()) return;
  lane.running = false;
  --running_;
}

// Does what can be done of a step; true when the next one may begin.
bool NetworkRun::AdvanceStep(Lane& lane, const Step& step) {
  StepState& state = lane.state;
  const bool loads = step.load && Exists(step.send_part, lane);
  const bool sends = step.send_to >= 0 && Exists(step.send_part, lane);
  const bool receives = step.recv_from >= 0 && Exists(step.recv_part, lane);
  if (receives && !state.recv_posted && lane.receiving().users == 0) PostRecv(lane, step);
  if (loads && !state.load_begun) Load(lane, step);
  if (loads && !state.loaded) return false;
  if (sends && !state.sent) PostSend(lane, step);
  if (state.received && !state.outcome_begun) MakeOutcome(lane, step);
  return (!sends || state.sent) && (!receives || state.outcome_ready);
}

void NetworkRun::Load(Lane& lane, const Step& step) {
  lane.state.load_begun = true;
  const bool root = bucket().kind == CollectiveKind::kBroadcast;
  LaneBuffer& buffer = lane.holding();
  SegmentTask task{.kind = root ? SegmentTask::Kind::kLoadRoot : SegmentTask::Kind::kLoadSum};
  task.id = {step.send_part, lane.segment};
  task.out = At(buffer, step.send_final);
  DoWith(lane, buffer, buffer, task, &lane.state.loaded);
}

void NetworkRun::PostRecv(Lane& lane, const Step& step) {
  const SegmentId id{step.recv_part, lane.segment};
  LaneBuffer& buffer = lane.receiving();
  const uint64_t token = TokenOf(NumberOf(lane), 1 - lane.held, true);
  Posted(context().posts.Recv(bucket().hosts[step.recv_from],
                              {At(buffer, step.recv_final), BytesOf(id, step.recv_final)},
                              TagOf(step.recv_number, id), this, token),
         buffer, lane.state.recv_posted);
}

void NetworkRun::PostSend(Lane& lane, const Step& step) {
  const SegmentId id{step.send_part, lane.segment};
  LaneBuffer& buffer = lane.holding();
  const uint64_t token = TokenOf(NumberOf(lane), lane.held, false);
  Posted(context().posts.Send(bucket().hosts[step.send_to],
                              {At(buffer, step.send_final), BytesOf(id, step.send_final)},
                              TagOf(step.send_number, id), this, token),
         buffer, lane.state.sent);
}

// A full queue is tried again at the next Advance().
void NetworkRun::Posted(const Status& status, LaneBuffer& buffer, bool& flag) {
  if (status.ok()) {
    flag = true;
    ++buffer.users;
    ++posts_out_;
  } else if (status.code() != StatusCode::kResourceExhausted) {
    Fail(status);
  }
}

void NetworkRun::MakeOutcome(Lane& lane, const Step& step) {
  using Kind = SegmentTask::Kind;
  lane.state.outcome_begun = true;
  LaneBuffer& held = lane.holding();
  LaneBuffer& got = lane.receiving();
  std::byte* const wire = At(got, false);
  std::byte* const other = At(held, false);
  bool* const ready = &lane.state.outcome_ready;
  SegmentTask task{.id = {step.recv_part, lane.segment}};
  switch (step.on_receive) {
    case OnReceive::kKeep:
      *ready = true;  // may be sent on while it is delivered
      if (!step.deliver) return;
      task.kind = step.recv_final ? Kind::kDeliverFinal : Kind::kDeliverWire;
      task.in = At(got, step.recv_final);
      return DoWith(lane, got, got, task, nullptr);
    case OnReceive::kAddLocal:
      task.kind = step.deliver ? Kind::kAddLocalFinal : Kind::kAddLocal;
      task.in = wire;
      task.out = At(got, step.deliver);
      return DoWith(lane, got, got, task, ready);
    case OnReceive::kHeldFirst:
    case OnReceive::kReceivedFirst:
      break;
  }
  const bool held_first = step.on_receive == OnReceive::kHeldFirst;
  task.kind = step.deliver ? Kind::kCombineDeliver : Kind::kCombine;
  task.in = held_first ? other : wire;
  task.right = held_first ? wire : other;
  task.out = wire;
  DoWith(lane, held, got, task, ready);
}

// A task that uses both buffers (they may be one); then sets *flag, if any.
void NetworkRun::DoWith(Lane& lane, LaneBuffer& a, LaneBuffer& b, const SegmentTask& task,
                        bool* flag) {
  ++a.users;
  ++b.users;
  Do(*work_, task, NumberOf(lane), [&a, &b, flag] {
    --a.users;
    --b.users;
    if (flag != nullptr) *flag = true;
  });
}

void NetworkRun::OnPost(uint64_t token, const Status& status) {
  Lane& lane = lanes_[token >> 2];
  LaneBuffer& buffer = lane.buffers[token >> 1 & 1];
  --buffer.users;
  --posts_out_;
  if (!status.ok()) return Fail(status);
  if ((token & 1) != 0) lane.state.received = true;
}

transport::Tag NetworkRun::TagOf(uint32_t number, SegmentId id) const {
  return {bucket().id, number, id.part, static_cast<uint32_t>(id.segment)};
}

size_t NetworkRun::BytesOf(SegmentId id, bool final) const {
  return layout_.SegmentElements(id.part, id.segment) *
         ElementBytes(final ? bucket().dtype : bucket().wire);
}

}  // namespace reigen::collective
