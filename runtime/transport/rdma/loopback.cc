#include "runtime/transport/rdma/loopback.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>

#include "runtime/base/rdma_kind.h"
#include "runtime/transport/rdma/path.h"
#include "runtime/transport/rdma/rdma_limits.h"
#include "runtime/transport/rdma/resources.h"
#include "runtime/transport/rdma/words.h"

namespace reigen::transport::rdma {
namespace {

// What a read brings, of which nobody takes notice; a line of its own.
constexpr size_t kReadBytes = 64;
constexpr uint64_t kJobMask = (uint64_t{1} << 48) - 1;

}  // namespace

Status Loopback::TryRead(size_t rail, std::span<const std::byte> memory, uint32_t key,
                         Time deadline) {
  REIGEN_ASSIGN_OR_RETURN(Port* const port, PortOf(rail));
  const Step step = {0, reinterpret_cast<uint64_t>(&memory.back()), key, {}};
  REIGEN_RETURN_IF_ERROR(Post(rail, *port, step));
  const std::string what = "reading the registered memory of a GPU";
  const Duration retried = PlanRetries(context_.options.retry_budget).total();
  for (bool late = false;;) {
    WorkCompletion completion;
    REIGEN_ASSIGN_OR_RETURN(const size_t count, Poll({&completion, 1}));
    if (count == 1 && completion.status == WorkStatus::kSuccess) return OkStatus();
    if (count == 1) return DescribeCompletion(completion, what, retried, context_.PortDown(rail));
    if (late) return DeadlineExceeded(what + " does not end");
    late = Now() >= deadline;  // once more: it may be this process that did not run
    std::this_thread::yield();
  }
}

Status Loopback::ReadBack(const Frame& frame, std::span<const std::byte> target, uint8_t rails,
                          const MemoryUse& use) {
  const uint64_t id = last_job_ = (last_job_ + 1) & kJobMask;
  jobs_[id] = {{frame, /*placed=*/false}, use, std::popcount(rails)};
  const auto last = reinterpret_cast<uint64_t>(&target.back());
  for (size_t rail = 0; rail < ports_.size(); ++rail) {
    if ((rails >> rail & 1) == 0) continue;
    REIGEN_ASSIGN_OR_RETURN(Port* const port, PortOf(rail));
    port->waiting.push_back({id, last, use->remote_keys[rail], {}});
  }
  return OkStatus();
}

Status Loopback::Place(const Placement& placement, const MemoryUse& use, uint8_t rails) {
  const uint8_t near = use->rails.near & rails;
  const auto rail = static_cast<size_t>(std::countr_zero(near != 0 ? near : rails));
  REIGEN_ASSIGN_OR_RETURN(Port* const port, PortOf(rail));
  const uint64_t id = last_job_ = (last_job_ + 1) & kJobMask;
  Frame frame;
  frame.tag = placement.tag;
  jobs_[id] = {{frame, /*placed=*/true}, use, 2};
  const auto address = reinterpret_cast<uint64_t>(placement.to.data());
  const uint32_t key = use->remote_keys[rail];
  port->waiting.push_back({id, address, key, placement.from});
  port->waiting.push_back({id, address + placement.to.size() - 1, key, {}});
  return OkStatus();
}

Status Loopback::Pump() {
  for (size_t rail = 0; rail < ports_.size(); ++rail) {
    if (ports_[rail] == nullptr) continue;
    Port& port = *ports_[rail];
    while (!port.waiting.empty() && port.queue.out() < kLoopbackWrs) {
      const Step step = port.waiting.front();
      if (!step.bytes.empty() && port.free_slots.empty()) break;
      port.waiting.pop_front();
      REIGEN_RETURN_IF_ERROR(Annotate(Post(rail, port, step), path(rail)));
    }
  }
  return OkStatus();
}

Status Loopback::Post(size_t rail, Port& port, const Step& step) {
  SendWork work;
  work.remote_address = step.address;
  work.remote_key = step.key;
  if (step.bytes.empty()) {
    work.id = WorkId{WorkKind::kReadBack, static_cast<uint8_t>(rail), step.job}.Encode();
    work.opcode = Opcode::kRead;
    work.local = {port.memory.get() + kLoopbackSlots * kEagerBytes, 1, port.region->local_key()};
    return port.queue.Send(work);
  }
  const size_t slot = port.free_slots.back();
  port.free_slots.pop_back();
  port.slots_out.push_back(slot);
  std::byte* const at = port.memory.get() + slot * kEagerBytes;
  std::memcpy(at, step.bytes.data(), step.bytes.size());
  work.id = WorkId{WorkKind::kPlacing, static_cast<uint8_t>(rail), step.job}.Encode();
  work.opcode = Opcode::kWrite;
  work.local = {at, static_cast<uint32_t>(step.bytes.size()), port.region->local_key()};
  return port.queue.Send(work);
}

StatusOr<Loopback::Port*> Loopback::PortOf(size_t rail) {
  if (ports_[rail] == nullptr) {
    auto port = std::make_unique<Port>();
    REIGEN_RETURN_IF_ERROR(Annotate(Make(rail, *port), path(rail)));
    ports_[rail] = std::move(port);
    made_ = true;
  }
  return ports_[rail].get();
}

Status Loopback::Make(size_t rail, Port& port) {
  const RailChoice& choice = context_.rails[rail]->choice();
  const RailAddress self = context_.rails[rail]->address();
  if (!RdmaKindsTalk(KindOf(self), KindOf(self))) {
    return FailedPrecondition("it speaks " + KindOf(self) +
                              ", as a limited member of that partition: those do not talk to each "
                              "other, nor to themselves, so that it cannot read what it wrote "
                              "(REIGEN_RDMA_PKEY takes another partition)");
  }
  REIGEN_ASSIGN_OR_RETURN(port.completions,
                          MakeCompletionQueue(*context_.rails[rail], kLoopbackWrs));
  REIGEN_ASSIGN_OR_RETURN(port.memory, MakePages(kLoopbackSlots * kEagerBytes + kReadBytes));
  REIGEN_ASSIGN_OR_RETURN(port.region, RegisterOwn(*context_.rails[rail], BytesOf(port.memory)));
  for (size_t slot = 0; slot < kLoopbackSlots; ++slot) port.free_slots.push_back(slot);
  QpLimits limits;
  limits.send_wrs = kLoopbackWrs;
  limits.receive_wrs = 1;
  limits.remote_read = true;
  REIGEN_ASSIGN_OR_RETURN(
      auto pair, MakeQueuePair(*context_.rails[rail], port.completions.get(), limits));
  const RetryPlan retry = PlanRetries(context_.options.retry_budget);
  PathAttributes path;
  path.port = choice.port.number;
  path.gid_index = static_cast<uint8_t>(choice.gid.index);
  path.global = NeedsGlobalRoute(self, self);
  path.remote_gid = self.gid;
  path.remote_lid = self.lid;
  path.remote_qp = pair->number();
  path.mtu_bytes = self.mtu_bytes;
  path.service_level = context_.options.service_level;
  path.traffic_class = context_.options.traffic_class;
  path.timeout_exponent = retry.timeout_exponent;
  path.retries = retry.retries;
  REIGEN_RETURN_IF_ERROR(pair->Connect(path));
  port.queue = WorkQueue(std::move(pair));
  return OkStatus();
}

StatusOr<size_t> Loopback::Poll(std::span<WorkCompletion> out) {
  size_t count = 0;
  for (const auto& port : ports_) {
    if (port == nullptr || count == out.size()) continue;
    REIGEN_ASSIGN_OR_RETURN(const size_t got, port->completions->Poll(out.subspan(count)));
    for (const WorkCompletion& completion : out.subspan(count, got)) {
      port->queue.OnCompletion(WorkId::Decode(completion.id).kind);
    }
    count += got;
  }
  return count;
}

Status Loopback::Arm() {
  for (const auto& port : ports_) {
    if (port != nullptr) REIGEN_RETURN_IF_ERROR(port->completions->Arm());
  }
  return OkStatus();
}

std::optional<Loopback::Done> Loopback::OnCompletion(const WorkId& id) {
  Port& port = *ports_[id.queue];
  if (id.kind == WorkKind::kPlacing) {  // a queue pair completes in order
    port.free_slots.push_back(port.slots_out.front());
    port.slots_out.pop_front();
  }
  const auto at = jobs_.find(id.value);
  if (at == jobs_.end() || --at->second.steps > 0) return std::nullopt;
  const Done done = at->second.done;
  jobs_.erase(at);
  return done;
}

void Loopback::Abandon() {
  for (const auto& port : ports_) {
    if (port != nullptr) port->waiting.clear();
  }
  jobs_.clear();
}

Status Loopback::SetError() {
  Status status;
  for (const auto& port : ports_) {
    if (port == nullptr) continue;
    const Status each = port->queue.pair().SetError();
    if (status.ok()) status = each;
  }
  return status;
}

std::optional<size_t> Loopback::Unanswered(Time now, Duration limit) {
  std::optional<size_t> first;
  for (size_t rail = 0; rail < ports_.size(); ++rail) {
    if (ports_[rail] == nullptr || !ports_[rail]->queue.Unanswered(now, limit)) continue;
    if (!first) first = rail;
  }
  return first;
}

bool Loopback::drained() const {
  return std::all_of(ports_.begin(), ports_.end(), [](const std::unique_ptr<Port>& port) {
    return port == nullptr || port->queue.out() == 0;
  });
}

std::optional<size_t> Loopback::Hit(const Device& device, const AsyncEvent& event) const {
  for (size_t rail = 0; rail < ports_.size(); ++rail) {
    const Port* const port = ports_[rail].get();
    if (port == nullptr || &context_.rails[rail]->device() != &device) continue;
    if (IsOf(event, port->queue.pair(), *port->completions)) return rail;
  }
  return std::nullopt;
}

std::string Loopback::path(size_t rail) const {
  return EndName(context_.options.name, context_.rails[rail]->address()) + " to itself";
}

}  // namespace reigen::transport::rdma
