#include "runtime/transport/rdma/queue_set.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/hmac.h"
#include "runtime/transport/rdma/pairing.h"
#include "runtime/transport/rdma/rdma_limits.h"

namespace reigen::transport::rdma {
namespace {

constexpr uint32_t kPsnMask = 0xffffff;

uint32_t RandomPsn() {
  uint32_t psn = 0;
  std::memcpy(&psn, RandomBytes(sizeof psn).data(), sizeof psn);
  return psn & kPsnMask;
}

}  // namespace

StatusOr<std::unique_ptr<QueueSet>> QueueSet::Make(RdmaContext& context, const Offer& local,
                                                   const Offer& remote) {
  std::unique_ptr<QueueSet> set(new QueueSet(context, local, remote));
  REIGEN_ASSIGN_OR_RETURN(const std::vector<RailPair> ways, PairRails(local, remote));
  set->pairs_ = PlaceQueues(ways, local, remote);
  set->pairs_.insert(set->pairs_.begin(), ways[0]);
  REIGEN_RETURN_IF_ERROR(set->MakeQueues());
  REIGEN_RETURN_IF_ERROR(set->MakeControl());
  return set;
}

Status QueueSet::MakeQueues() {
  const uint32_t receives = context_.room.max_receives;
  std::vector<uint32_t> entries(context_.rails.size());
  entries[static_cast<size_t>(pairs_[0].local)] += 2 * kControlQueue;
  for (size_t i = 1; i < pairs_.size(); ++i) {
    entries[static_cast<size_t>(pairs_[i].local)] += kDataSends + receives;
  }
  for (size_t rail = 0; rail < entries.size(); ++rail) {
    completions_.emplace_back();
    if (entries[rail] == 0) continue;
    REIGEN_ASSIGN_OR_RETURN(completions_.back(),
                            MakeCompletionQueue(*context_.rails[rail], entries[rail]));
  }
  for (size_t i = 0; i < pairs_.size(); ++i) {
    const auto local = static_cast<size_t>(pairs_[i].local);
    QpLimits limits;
    limits.send_wrs = i == 0 ? kControlQueue : kDataSends;
    limits.receive_wrs = i == 0 ? kControlQueue : receives;
    limits.inline_bytes = i == 0 ? ControlQueue::kHeaderBytes + ControlQueue::kPlaceBytes : 0;
    REIGEN_ASSIGN_OR_RETURN(
        auto pair, MakeQueuePair(*context_.rails[local], completions_[local].get(), limits));
    queues_.emplace_back(std::move(pair));
    psns_.push_back(RandomPsn());
  }
  for (size_t i = 1; i < queues_.size(); ++i) {
    REIGEN_RETURN_IF_ERROR(PostDataReceives(static_cast<uint8_t>(i)));
  }
  return OkStatus();
}

Status QueueSet::MakeControl() {
  REIGEN_ASSIGN_OR_RETURN(control_memory_, MakePages(ControlQueue::kMemoryBytes));
  const std::span<std::byte> memory = BytesOf(control_memory_).first(ControlQueue::kMemoryBytes);
  REIGEN_ASSIGN_OR_RETURN(
      control_region_,
      RegisterOwn(*context_.rails[static_cast<size_t>(pairs_[0].local)], memory));
  control_ =
      std::make_unique<ControlQueue>(&queues_[0], memory, control_region_->local_key());
  REIGEN_RETURN_IF_ERROR(control_->PostReceives());

  std::vector<DataWriter::Queue> data;
  uint64_t max_message_bytes = UINT64_MAX;
  for (size_t i = 1; i < pairs_.size(); ++i) {
    data.push_back({&queues_[i], pairs_[i]});
    for (const RailAddress& end : {local_.rails[static_cast<size_t>(pairs_[i].local)],
                                   remote_.rails[static_cast<size_t>(pairs_[i].remote)]}) {
      max_message_bytes = std::min<uint64_t>(max_message_bytes, end.max_message_bytes);
    }
  }
  if (max_message_bytes == 0) return InvalidArgument("a port takes messages of 0 bytes");
  writer_ = std::make_unique<DataWriter>(data, max_message_bytes);
  return OkStatus();
}

Status QueueSet::PostDataReceives(uint8_t queue) {
  ReceiveWork work;
  work.id = WorkId{WorkKind::kDataReceive, queue, 0}.Encode();
  return queues_[queue].Receive(std::vector<ReceiveWork>(context_.room.max_receives, work));
}

Status QueueSet::PostDataReceive(uint8_t queue) {
  ReceiveWork work;
  work.id = WorkId{WorkKind::kDataReceive, queue, 0}.Encode();
  return queues_[queue].Receive({&work, 1});
}

Queues QueueSet::addresses() const {
  Queues queues;
  for (size_t i = 0; i < queues_.size(); ++i) {
    queues.queues.push_back({queues_[i].pair().number(), psns_[i]});
  }
  return queues;
}

Status QueueSet::Connect(const Queues& remote, const std::string& local_name,
                         const std::string& remote_name) {
  if (remote.queues.size() != queues_.size()) {
    return InvalidArgument("the peer made " + std::to_string(remote.queues.size()) +
                           " queues, this end " + std::to_string(queues_.size()));
  }
  for (size_t i = 0; i < queues_.size(); ++i) {
    paths_.push_back(EndName(local_name, local_.rails[static_cast<size_t>(pairs_[i].local)]) + " -> " +
                     EndName(remote_name, remote_.rails[static_cast<size_t>(pairs_[i].remote)]));
    const auto rail = static_cast<size_t>(pairs_[i].local);
    if (context_.rails[rail]->choice().gid.gid != local_.rails[rail].gid) {
      return Unavailable(paths_.back() + ": the address here changed while the link was made");
    }
    const Status connected = queues_[i].pair().Connect(PathOf(i, remote.queues[i]));
    REIGEN_RETURN_IF_ERROR(Annotate(connected, paths_.back()));
  }
  return OkStatus();
}

PathAttributes QueueSet::PathOf(size_t queue, const QueueAddress& there) const {
  const RailChoice& here = context_.rails[static_cast<size_t>(pairs_[queue].local)]->choice();
  const RailAddress& local = local_.rails[static_cast<size_t>(pairs_[queue].local)];
  const RailAddress& remote = remote_.rails[static_cast<size_t>(pairs_[queue].remote)];
  const RetryPlan retry = PlanRetries(context_.options.retry_budget);
  PathAttributes path;
  path.port = here.port.number;
  path.gid_index = static_cast<uint8_t>(here.gid.index);
  path.global = NeedsGlobalRoute(local, remote);
  path.remote_gid = remote.gid;
  path.remote_lid = remote.lid;
  path.remote_qp = there.number;
  path.local_psn = psns_[queue];
  path.remote_psn = there.psn & kPsnMask;
  path.mtu_bytes = std::min(local.mtu_bytes, remote.mtu_bytes);
  path.service_level = context_.options.service_level;
  path.traffic_class = context_.options.traffic_class;
  path.timeout_exponent = retry.timeout_exponent;
  path.retries = retry.retries;
  return path;
}

StatusOr<size_t> QueueSet::Poll(std::span<WorkCompletion> out) {
  size_t count = 0;
  for (size_t i = 0; i < completions_.size() && count < out.size(); ++i) {
    CompletionQueue* const queue = completions_[(next_poll_ + i) % completions_.size()].get();
    if (queue == nullptr) continue;
    REIGEN_ASSIGN_OR_RETURN(const size_t got, queue->Poll(out.subspan(count)));
    count += got;
  }
  next_poll_ = (next_poll_ + 1) % completions_.size();
  for (const WorkCompletion& completion : out.first(count)) {
    const WorkId id = WorkId::Decode(completion.id);
    queues_[id.queue].OnCompletion(id.kind);
  }
  return count;
}

std::optional<uint8_t> QueueSet::Unanswered(Time now, Duration limit) {
  std::optional<uint8_t> first;
  for (size_t i = 0; i < queues_.size(); ++i) {
    if (queues_[i].Unanswered(now, limit) && !first) first = static_cast<uint8_t>(i);
  }
  return first;
}

bool QueueSet::sends_out() const {
  return std::any_of(queues_.begin(), queues_.end(),
                     [](const WorkQueue& queue) { return queue.sends_out() > 0; });
}

Status QueueSet::Arm() {
  for (const auto& queue : completions_) {
    if (queue != nullptr) REIGEN_RETURN_IF_ERROR(queue->Arm());
  }
  return OkStatus();
}

Status QueueSet::SetError() {
  Status status;
  for (WorkQueue& queue : queues_) {
    const Status each = queue.pair().SetError();
    if (status.ok()) status = each;
  }
  return status;
}

bool QueueSet::drained() const {
  return std::all_of(queues_.begin(), queues_.end(),
                     [](const WorkQueue& queue) { return queue.out() == 0; });
}

std::optional<uint8_t> QueueSet::Hit(const Device& device, const AsyncEvent& event) const {
  for (size_t i = 0; i < queues_.size(); ++i) {
    const auto rail = static_cast<size_t>(pairs_[i].local);
    if (&context_.rails[rail]->device() != &device) continue;
    if (IsOf(event, queues_[i].pair(), *completions_[rail])) return static_cast<uint8_t>(i);
  }
  return std::nullopt;
}

uint8_t QueueSet::data_rails() const {
  uint8_t rails = 0;
  for (size_t i = 1; i < pairs_.size(); ++i) rails |= static_cast<uint8_t>(1u << pairs_[i].local);
  return rails;
}

std::string QueueSet::Summary() const {
  const PathAttributes path = PathOf(0, {});
  const RailAddress& local = local_.rails[static_cast<size_t>(pairs_[0].local)];
  const RailAddress& remote = remote_.rails[static_cast<size_t>(pairs_[0].remote)];
  std::string mtu = std::to_string(path.mtu_bytes);
  if (local.mtu_bytes != remote.mtu_bytes) {
    mtu += " (here " + std::to_string(local.mtu_bytes) + ", there " +
           std::to_string(remote.mtu_bytes) + "; the smaller counts)";
  }
  std::string text =
      std::to_string(data_queues()) + " queues for data, path MTU " + mtu + ": " + paths_[0];
  for (size_t rail = 0; rail < local_.rails.size(); ++rail) {
    if (completions_[rail] != nullptr) continue;
    const RailAddress& unused = local_.rails[rail];
    text += "; " + unused.device + ":" + std::to_string(unused.port) +
            " is not used: it has no like there, or there is no room for its queues";
  }
  return text;
}

}  // namespace reigen::transport::rdma
