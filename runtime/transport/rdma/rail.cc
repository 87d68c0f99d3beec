#include "runtime/transport/rdma/rail.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/transport/rdma/rdma_limits.h"
#include "runtime/transport/rdma/resources.h"
#include "runtime/transport/rdma/room.h"
#include "runtime/transport/rdma/words.h"

namespace reigen::transport::rdma {
namespace {

RailAddress AddressOf(const RailChoice& choice) {
  RailAddress address;
  address.device = choice.device;
  address.port = choice.port.number;
  address.layer = choice.port.layer;
  address.gid_type = choice.gid.type;
  address.gid = choice.gid.gid;
  address.lid = choice.port.lid;
  address.global_only = choice.port.global_only;
  address.pkey = PkeyOf(choice);
  address.mtu_bytes = choice.mtu_bytes;
  address.max_message_bytes = choice.port.max_message_bytes;
  return address;
}

}  // namespace

Rail::Rail(std::shared_ptr<Device> device, RailChoice choice)
    : device_(std::move(device)), choice_(std::move(choice)), kind_(KindOf(AddressOf(choice_))) {}

RailAddress Rail::address() const { return AddressOf(choice_); }

void Rail::KeepToKind(const Wish& wish, PortInfo& port) const {
  std::erase_if(port.gids, [&](const GidEntry& entry) {
    RailChoice with = choice_;
    with.gid = entry;
    return KindOf(AddressOf(with)) != kind_;
  });
  const auto is_mine = [&](const GidEntry& entry) {
    return entry.gid == choice_.gid.gid && entry.type == choice_.gid.type;
  };
  if (wish.gid_index >= 0 || std::none_of(port.gids.begin(), port.gids.end(), is_mine)) return;
  std::erase_if(port.gids, [&](const GidEntry& entry) { return !is_mine(entry); });
}

Status Rail::Refresh(const Wish& wish) {
  Candidate candidate;
  candidate.name = choice_.device;
  REIGEN_ASSIGN_OR_RETURN(candidate.info, device_->Query());
  const std::string name = choice_.device + ":" + std::to_string(choice_.port.number);
  for (PortInfo& port : candidate.info.ports) {
    if (port.number != choice_.port.number || port.gids.empty()) continue;
    KeepToKind(wish, port);
    if (port.active && port.gids.empty()) {
      return Unavailable(name + " has no address for " + kind_ + " any more, as which peers know it");
    }
  }
  REIGEN_ASSIGN_OR_RETURN(RailChoice now, ChooseAgain(candidate, choice_.port.number, wish));
  const std::string kind = KindOf(AddressOf(now));
  if (kind != kind_) {
    return Unavailable(name + " speaks " + kind + " now, and peers know it as one for " + kind_);
  }
  if (now.gid.gid != choice_.gid.gid || now.gid.index != choice_.gid.index) {
    REIGEN_INFO("rdma: address changed, {} is now {}", ToString(choice_), ToString(now));
  }
  choice_ = std::move(now);
  down_ = false;
  return OkStatus();
}

void Rail::OnAsyncEvent(const AsyncEvent& event, Time now) {
  if (event.port != choice_.port.number) return;
  if (event.kind == AsyncKind::kPortActive) down_ = false;
  if (event.kind != AsyncKind::kPortError) return;
  down_ = true;
  down_at_ = now;
  down_text_ = event.text;
}

std::string Rail::DownBy(const std::string& what) const {
  return "port " + choice_.device + ":" + std::to_string(choice_.port.number) + " went down (" +
         what + ")";
}

std::string Rail::ToldDown(Time now, Duration lately) const {
  const bool counts = down_ || (!down_text_.empty() && now - down_at_ <= lately);
  return counts ? DownBy(down_text_) : "";
}

std::string Rail::WentDown(Time now, Duration lately) {
  const std::string told = ToldDown(now, lately);
  if (!told.empty()) return told;
  const StatusOr<DeviceInfo> info = device_->Query();
  if (!info.ok()) return "";
  for (const PortInfo& port : info->ports) {
    if (port.number == choice_.port.number && !port.active) return DownBy(port.state);
  }
  return "";
}

namespace {

// Of a device that is there.
Status CannotBeOpened(const std::string& name, const Status& status) {
  std::string text = "RDMA device " + name;
  if (status.code() != StatusCode::kFailedPrecondition) {
    text += " is there and cannot be opened (a container must be given /dev/infiniband)";
  }
  return Annotate(status, text);
}

// The machine's devices, by index.
struct Machine {
  std::vector<Candidate> candidates;
  std::vector<std::shared_ptr<Device>> devices;  // nullptr: it cannot be opened

  size_t IndexOf(const std::string& name) const {
    const auto at = std::find_if(candidates.begin(), candidates.end(),
                                 [&](const Candidate& each) { return each.name == name; });
    return static_cast<size_t>(at - candidates.begin());
  }
};

StatusOr<Machine> OpenMachine(Verbs& verbs) {
  REIGEN_ASSIGN_OR_RETURN(const std::vector<std::string> names, verbs.ListDevices());
  Machine machine;
  for (const std::string& name : names) {
    Candidate& candidate = machine.candidates.emplace_back();
    candidate.name = name;
    std::shared_ptr<Device>& device = machine.devices.emplace_back();
    StatusOr<std::unique_ptr<Device>> opened = verbs.Open(name);
    if (!opened.ok()) {
      candidate.status = CannotBeOpened(name, opened.status());
      continue;
    }
    device = std::move(opened).value();
    StatusOr<DeviceInfo> info = device->Query();
    if (info.ok()) {
      candidate.info = std::move(info).value();
    } else {
      candidate.status = info.status();
    }
  }
  return machine;
}

// Makes what a link makes, as large.
Status TryQueues(const std::shared_ptr<Device>& device, const DeviceInfo& info,
                 const RailChoice& choice) {
  const StatusOr<Room> room = MeasureRoom({info});
  if (!room.ok()) return OkStatus();  // whoever measures all of them says so
  Rail rail(device, choice);
  const uint32_t entries = 2 * kControlQueue + kDataSends + room->max_receives;
  REIGEN_ASSIGN_OR_RETURN(const auto completions, MakeCompletionQueue(rail, entries));
  QpLimits limits;
  limits.send_wrs = kDataSends;
  limits.receive_wrs = room->max_receives;
  return MakeQueuePair(rail, completions.get(), limits).status();
}

// What a device lacks, or may not give, is known before any host counts on it: such a device
// is none to choose.
StatusOr<Choice> ChooseTried(Machine& machine, const Wish& wish) {
  std::vector<std::string> failures;
  for (;;) {
    REIGEN_ASSIGN_OR_RETURN(Choice choice, ChooseRails(machine.candidates, wish));
    bool all_good = true;
    for (const RailChoice& rail : choice.rails) {
      const size_t index = machine.IndexOf(rail.device);
      Candidate& candidate = machine.candidates[index];
      if (!candidate.status.ok()) continue;  // by another port of it
      const Status tried = TryQueues(machine.devices[index], candidate.info, rail);
      if (tried.ok()) continue;
      // That limit is the process's, the same with every device.
      const bool over_limit = tried.code() == StatusCode::kResourceExhausted;
      if (over_limit && !ReadLockedMemory().unlimited) return Annotate(tried, rail.device);
      all_good = false;
      candidate.status = FailedPrecondition("RDMA device " + rail.device +
                                            " cannot make the queues of a link: " + Message(tried));
      failures.push_back(Message(candidate.status) + "; links do without it");
    }
    if (!all_good) continue;
    // Of those that were asked for the choice itself warns.
    if (wish.devices.empty()) {
      choice.warnings.insert(choice.warnings.end(), failures.begin(), failures.end());
    }
    return choice;
  }
}

}  // namespace

StatusOr<OpenedRails> OpenRails(Verbs& verbs, const Wish& wish) {
  REIGEN_ASSIGN_OR_RETURN(Machine machine, OpenMachine(verbs));
  REIGEN_ASSIGN_OR_RETURN(Choice choice, ChooseTried(machine, wish));
  for (const std::string& warning : choice.warnings) REIGEN_WARN("rdma: {}", warning);
  OpenedRails opened;
  opened.left_out = std::move(choice.left_out);
  opened.spare = std::move(choice.spare);
  for (RailChoice& chosen : choice.rails) {
    opened.reason += (opened.rails.empty() ? "" : ", ") + ToString(chosen);
    const std::shared_ptr<Device>& device = machine.devices[machine.IndexOf(chosen.device)];
    opened.rails.push_back(std::make_unique<Rail>(device, std::move(chosen)));
  }
  opened.reason += ": " + choice.reason;
  return opened;
}

}  // namespace reigen::transport::rdma
