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

RailAddress Rail::address() const {
  RailAddress address;
  address.device = choice_.device;
  address.port = choice_.port.number;
  address.layer = choice_.port.layer;
  address.gid_type = choice_.gid.type;
  address.gid = choice_.gid.gid;
  address.lid = choice_.port.lid;
  address.global_only = choice_.port.global_only;
  address.pkey = PkeyOf(choice_);
  address.mtu_bytes = choice_.mtu_bytes;
  address.max_message_bytes = choice_.port.max_message_bytes;
  return address;
}

Status Rail::Refresh(const Wish& wish) {
  Candidate candidate;
  candidate.name = choice_.device;
  REIGEN_ASSIGN_OR_RETURN(candidate.info, device_->Query());
  REIGEN_ASSIGN_OR_RETURN(RailChoice now, ChooseAgain(candidate, choice_.port.number, wish));
  if (now.gid.gid != choice_.gid.gid || now.gid.index != choice_.gid.index) {
    REIGEN_INFO("rdma: address changed, {} is now {}", ToString(choice_), ToString(now));
  }
  choice_ = std::move(now);
  return OkStatus();
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
