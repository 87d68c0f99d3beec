#include "runtime/collective/network_run.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/transport/link.h"

namespace reigen::collective {
namespace {

// Partial sums travel in another type than final values have.
bool TwoTypes(const Bucket& bucket) {
  return bucket.kind == CollectiveKind::kAllreduce && bucket.wire != bucket.dtype;
}

// Room that an element needs in a buffer. Where partial sums have another type,
// they and the final values lie side by side.
uint64_t BytesPerElement(const Bucket& bucket) {
  return ElementBytes(bucket.dtype) + (TwoTypes(bucket) ? ElementBytes(bucket.wire) : 0);
}

uint64_t SegmentElements(const Bucket& bucket) {
  return bucket.segment_bytes / BytesPerElement(bucket);
}

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

bool NeedsNetwork(const Bucket& bucket) {
  if (bucket.algorithm == Algorithm::kNone || bucket.hosts.size() <= 1) return false;
  return std::any_of(bucket.tensors.begin(), bucket.tensors.end(),
                     [](const BucketTensor& tensor) { return tensor.count > 0; });
}

Status ValidateBucket(const Bucket& bucket, size_t window_bytes) {
  const auto wrong = [](const std::string& what) { return FailedPrecondition("plan: " + what); };
  const int hosts = static_cast<int>(bucket.hosts.size());
  if (bucket.self < 0 || bucket.self >= hosts) return wrong("this host is none of its hosts");
  if (bucket.root < 0 || bucket.root >= hosts) return wrong("the root is none of its hosts");
  const bool broadcast = bucket.algorithm == Algorithm::kChainBroadcast ||
                         bucket.algorithm == Algorithm::kTreeBroadcast;
  if (broadcast != (bucket.kind == CollectiveKind::kBroadcast)) {
    return wrong("its algorithm is of another kind of collective");
  }
  if (bucket.channels < 1) return wrong("no channel");
  if (SegmentElements(bucket) < 1) return wrong("a segment holds no element");
  if (2 * (Scratch::Rounded(bucket.segment_bytes) + Scratch::kAlign) > window_bytes) {
    return wrong("segments of " + std::to_string(bucket.segment_bytes) +
                 " bytes; the scratch window of stream " + std::to_string(bucket.id.stream) + " has " +
                 std::to_string(window_bytes));
  }
  uint64_t elements = 0;
  for (const BucketTensor& tensor : bucket.tensors) elements += tensor.count;
  if (elements / SegmentElements(bucket) >= std::numeric_limits<uint32_t>::max()) {
    return wrong("too many segments");
  }
  return OkStatus();
}

NetworkRun::NetworkRun(Bucket moved, RunContext& shared)
    : Run(std::move(moved), shared),
      steps_(MakeSchedule(bucket().algorithm, static_cast<int>(bucket().hosts.size()),
                          bucket().self, bucket().root)),
      layout_(bucket().tensors,
              PartsOf(bucket().algorithm, static_cast<int>(bucket().hosts.size())),
              SegmentElements(bucket())),
      work_(bucket(), layout_),
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
  std::byte* const first = TakeBuffer();
  if (first == nullptr) return false;
  std::byte* const second = TakeBuffer();
  if (second == nullptr) {
    context().scratch.GiveBack(first);
    return false;
  }
  lane.buffers[0].memory = first;
  lane.buffers[1].memory = second;
  return true;
}

std::byte* NetworkRun::TakeBuffer() {
  std::byte* memory = nullptr;
  if (oldest()) memory = context().scratch.TakeFromWindow(bucket().id.stream, buffer_bytes_);
  return memory != nullptr ? memory : context().scratch.TakeSurplus(buffer_bytes_);
}

void NetworkRun::GiveBackIfIdle(Lane& lane) {
  if (lane.buffers[0].memory == nullptr || !lane.idle()) return;
  for (LaneBuffer& buffer : lane.buffers) {
    context().scratch.GiveBack(buffer.memory);
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
  const SegmentId id{step.send_part, lane.segment};
  LaneBuffer& buffer = lane.holding();
  std::byte* const to = At(buffer, step.send_final);
  const bool root = bucket().kind == CollectiveKind::kBroadcast;
  DoWith(buffer, buffer, id,
         [this, id, to, root] { root ? work_.LoadRoot(id, to) : work_.LoadSum(id, to); },
         &lane.state.loaded);
}

void NetworkRun::PostRecv(Lane& lane, const Step& step) {
  const SegmentId id{step.recv_part, lane.segment};
  LaneBuffer& buffer = lane.receiving();
  const uint64_t token = TokenOf(static_cast<size_t>(&lane - lanes_.data()), 1 - lane.held, true);
  Posted(context().posts.Recv(bucket().hosts[step.recv_from],
                              {At(buffer, step.recv_final), BytesOf(id, step.recv_final)},
                              TagOf(step.recv_number, id), this, token),
         buffer, lane.state.recv_posted);
}

void NetworkRun::PostSend(Lane& lane, const Step& step) {
  const SegmentId id{step.send_part, lane.segment};
  LaneBuffer& buffer = lane.holding();
  const uint64_t token = TokenOf(static_cast<size_t>(&lane - lanes_.data()), lane.held, false);
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
  lane.state.outcome_begun = true;
  const SegmentId id{step.recv_part, lane.segment};
  LaneBuffer& held = lane.holding();
  LaneBuffer& got = lane.receiving();
  std::byte* const wire = At(got, false);
  std::byte* const other = At(held, false);
  std::byte* const final = At(got, true);
  bool* const ready = &lane.state.outcome_ready;
  switch (step.on_receive) {
    case OnReceive::kKeep:
      *ready = true;  // may be sent on while it is delivered
      if (step.deliver) Deliver(lane, step);
      return;
    case OnReceive::kAddLocal:
      if (step.deliver) {
        DoWith(got, got, id, [this, id, wire, final] { work_.AddLocalFinal(id, wire, final); }, ready);
      } else {
        DoWith(got, got, id, [this, id, wire] { work_.AddLocal(id, wire); }, ready);
      }
      return;
    case OnReceive::kHeldFirst:
    case OnReceive::kReceivedFirst:
      break;
  }
  const bool held_first = step.on_receive == OnReceive::kHeldFirst;
  DoWith(held, got, id,
         [this, id, wire, left = held_first ? other : wire, right = held_first ? wire : other,
          deliver = step.deliver] {
           work_.Combine(id, left, right, wire);
           if (deliver) work_.DeliverWire(id, wire);
         },
         ready);
}

void NetworkRun::Deliver(Lane& lane, const Step& step) {
  const SegmentId id{step.recv_part, lane.segment};
  LaneBuffer& got = lane.receiving();
  std::byte* const from = At(got, step.recv_final);
  DoWith(got, got, id,
         [this, id, from, final = step.recv_final] {
           final ? work_.DeliverFinal(id, from) : work_.DeliverWire(id, from);
         },
         nullptr);
}

// Runs work that uses both buffers (they may be one); then sets *flag, if any.
void NetworkRun::DoWith(LaneBuffer& a, LaneBuffer& b, SegmentId id, std::function<void()> work,
                        bool* flag) {
  ++a.users;
  ++b.users;
  Do(work_.Traffic(id), std::move(work), [&a, &b, flag] {
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
