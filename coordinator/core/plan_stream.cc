#include "coordinator/core/plan_stream.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "coordinator/limits.h"

namespace reigen::coordinator {
namespace {

std::vector<int> RingOrder(const Membership& membership) {
  std::vector<int> hosts(membership.hosts().size());
  std::iota(hosts.begin(), hosts.end(), 0);
  return hosts;
}

}  // namespace

PlanStream::PlanStream(const JobConfig& config, const Membership& membership)
    : epoch_(membership.epoch()),
      max_names_(config.max_names),
      negotiation_(membership.HostRanks()),
      planner_(config, RingOrder(membership), static_cast<int>(membership.ranks().size())),
      waiting_(membership.hosts().size()),
      seen_(membership.hosts().size()) {
  control::EpochBegin& begin = *NewEntry().mutable_epoch_begin();
  begin.set_epoch(epoch_);
  begin.set_max_segment_bytes(planner_.max_segment_bytes());
  begin.set_max_channels(planner_.max_channels());
  for (int number : RingOrder(membership)) {
    const HostMember& host = membership.hosts()[number];
    control::HostInfo& info = *begin.add_hosts();
    info.set_host(number);
    info.set_name(host.config.name);
    *info.mutable_link_addresses() = host.attached.link_addresses();
    for (int rank : host.config.ranks) info.add_ranks(rank);
  }
}

control::Entry& PlanStream::NewEntry() {
  ++entry_count_;
  return entries_.emplace_back();
}

Status PlanStream::SeenBy(int host, uint64_t entries_seen) {
  if (entries_seen > entry_count_) {
    return InvalidArgument("has seen " + std::to_string(entries_seen) + " entries of " +
                           std::to_string(entry_count_));
  }
  seen_[host] = std::max(seen_[host], entries_seen);
  if (!last_fail_.empty()) {
    const uint64_t seen_by_all = *std::min_element(seen_.begin(), seen_.end());
    std::erase_if(last_fail_, [&](const auto& fail) { return fail.second <= seen_by_all; });
  }
  return OkStatus();
}

bool PlanStream::IsVoid(const std::string& name, uint64_t entries_seen) const {
  const auto fail = last_fail_.find(name);
  return fail != last_fail_.end() && entries_seen < fail->second;
}

Status PlanStream::Announce(int host, const control::ReadyBatch& batch, Time now) {
  if (batch.epoch() > epoch_) return InvalidArgument("Ready of an epoch that has not begun");
  if (batch.epoch() < epoch_) return OkStatus();  // failed with its epoch
  REIGEN_RETURN_IF_ERROR(SeenBy(host, batch.entries_seen()));
  for (const control::Ready& ready : batch.ready()) {
    REIGEN_ASSIGN_OR_RETURN(const std::string name, NameOf(ready));
    // The worker used these requests up when it came to the Fail.
    if (IsVoid(name, batch.entries_seen())) continue;
    if (ready.process_set() != 0) return InvalidArgument(name + ": unknown process set");
    if (ready.generation() != 0) return InvalidArgument(name + ": unknown generation");
    REIGEN_ASSIGN_OR_RETURN(std::vector<SpecGroup> groups, GroupsOf(host, ready));
    REIGEN_RETURN_IF_ERROR(negotiation_.Announce(host, name, std::move(groups), now));
    waiting_.Remove(host, name);
    Settle();
  }
  return OkStatus();
}

StatusOr<std::string> PlanStream::NameOf(const control::Ready& ready) const {
  if (ready.name_id() > names_.size()) {
    return InvalidArgument("unknown name id " + std::to_string(ready.name_id()));
  }
  if (ready.name_id() > 0) return names_[ready.name_id() - 1].name;
  if (ready.name().empty() || ready.name().size() > kMaxNameBytes) {
    return InvalidArgument("name of " + std::to_string(ready.name().size()) + " bytes");
  }
  return ready.name();
}

StatusOr<std::vector<SpecGroup>> PlanStream::GroupsOf(int host,
                                                      const control::Ready& ready) const {
  std::vector<SpecGroup> groups;
  if (ready.same_spec()) {
    if (ready.name_id() == 0 || names_[ready.name_id() - 1].planned == nullptr) {
      return InvalidArgument("same spec of a name that has none");
    }
    groups.push_back(
        {names_[ready.name_id() - 1].planned, negotiation_.host_ranks()[host]});
    return groups;
  }
  for (const control::Variant& variant : ready.variants()) {
    REIGEN_RETURN_IF_ERROR(CheckBounds(variant.spec()));
    groups.push_back({std::make_shared<const control::RequestSpec>(variant.spec()),
                      {variant.ranks().begin(), variant.ranks().end()}});
  }
  return groups;
}

Status PlanStream::Note(int host, const control::Heartbeat& heartbeat, Time now) {
  if (heartbeat.epoch() > epoch_) return InvalidArgument("heartbeat of a later epoch");
  if (heartbeat.epoch() < epoch_) return OkStatus();
  REIGEN_RETURN_IF_ERROR(SeenBy(host, heartbeat.entries_seen()));
  waiting_.Replace(host, heartbeat, now, [&](const std::string& name) {
    return IsVoid(name, heartbeat.entries_seen());
  });
  return OkStatus();
}

void PlanStream::Leave(const std::vector<int>& ranks) {
  // Every plan with a tensor of these ranks stands before their Left.
  PlanAgreed();
  negotiation_.Leave(ranks);
  Settle();
  control::Left& left = *NewEntry().mutable_left();
  for (int rank : ranks) left.add_ranks(rank);
}

void PlanStream::FailAll(local::ResultCode code, const std::string& reason, Time now) {
  for (const Awaited& awaited : AwaitedFor(Duration::zero(), now)) {
    negotiation_.Fail(awaited.name, code, reason);
  }
  Settle();
}

// Failures become entries at once: a Ready that follows must see their number.
void PlanStream::Settle() {
  for (NegotiationVerdict& verdict : negotiation_.Take()) {
    waiting_.Remove(verdict.name);
    if (verdict.code == local::ResultCode::kOk) {
      agreed_.push_back({.name = std::move(verdict.name), .spec = std::move(verdict.spec)});
    } else {
      AddFail(verdict);
    }
  }
}

void PlanStream::AddFail(const NegotiationVerdict& verdict) {
  control::Fail& fail = *NewEntry().mutable_fail();
  const auto id = ids_.find(verdict.name);
  if (id != ids_.end()) {
    fail.set_name_id(id->second);
  } else {
    fail.set_name(verdict.name);
  }
  fail.set_code(static_cast<uint32_t>(verdict.code));
  fail.set_reason(verdict.reason);
  last_fail_[verdict.name] = entry_count_;
  failed_.push_back(verdict.name);
  ++failures_;
}

uint32_t PlanStream::IdOf(const std::string& name) {
  const auto known = ids_.find(name);
  if (known != ids_.end()) return known->second;
  if (names_.size() >= max_names_) return 0;
  names_.push_back({.name = name, .planned = nullptr});
  const auto id = static_cast<uint32_t>(names_.size());
  ids_.emplace(name, id);
  control::NameDef& definition = *NewEntry().mutable_name_def();
  definition.set_id(id);
  definition.set_name(name);
  return id;
}

void PlanStream::PlanAgreed() {
  for (AgreedRequest& request : agreed_) {
    request.name_id = IdOf(request.name);
    if (request.name_id != 0) names_[request.name_id - 1].planned = request.spec;
  }
  for (control::Plan& plan : planner_.Plan(agreed_)) {
    *NewEntry().mutable_plan() = std::move(plan);
  }
  agreed_.clear();
}

std::vector<std::shared_ptr<const control::CoordinatorMessage>> PlanStream::Flush() {
  PlanAgreed();
  std::vector<std::shared_ptr<const control::CoordinatorMessage>> messages;
  uint64_t number = entry_count_ - entries_.size() + 1;
  for (size_t i = 0; i < entries_.size();) {
    auto message = std::make_shared<control::CoordinatorMessage>();
    control::Entries& out = *message->mutable_entries();
    out.set_first_entry(number);
    for (size_t bytes = 0; i < entries_.size() && bytes < kEntriesMessageBytes; ++i, ++number) {
      bytes += entries_[i].ByteSizeLong();
      *out.add_entry() = std::move(entries_[i]);
    }
    messages.push_back(std::move(message));
  }
  entries_.clear();
  return messages;
}

}  // namespace reigen::coordinator
