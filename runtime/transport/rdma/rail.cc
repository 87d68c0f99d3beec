#include "runtime/transport/rdma/rail.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/log.h"

namespace reigen::transport::rdma {

RailAddress Rail::address() const {
  RailAddress address;
  address.device = choice_.device;
  address.port = choice_.port.number;
  address.layer = choice_.port.layer;
  address.gid_type = choice_.gid.type;
  address.gid = choice_.gid.gid;
  address.lid = choice_.port.lid;
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

StatusOr<OpenedRails> OpenRails(Verbs& verbs, const Wish& wish) {
  REIGEN_ASSIGN_OR_RETURN(const std::vector<std::string> names, verbs.ListDevices());
  std::vector<Candidate> candidates;
  std::vector<std::shared_ptr<Device>> devices;
  for (const std::string& name : names) {
    Candidate& candidate = candidates.emplace_back();
    candidate.name = name;
    std::shared_ptr<Device>& device = devices.emplace_back();
    StatusOr<std::unique_ptr<Device>> opened = verbs.Open(name);
    if (!opened.ok()) {
      candidate.status = Annotate(opened.status(), "RDMA device " + name +
                                                       " is there and cannot be opened (a container "
                                                       "must be given /dev/infiniband)");
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
  REIGEN_ASSIGN_OR_RETURN(Choice choice, ChooseRails(candidates, wish));
  OpenedRails opened;
  opened.left_out = std::move(choice.left_out);
  opened.spare = std::move(choice.spare);
  for (RailChoice& chosen : choice.rails) {
    const auto at = std::find(names.begin(), names.end(), chosen.device);
    opened.reason += (opened.rails.empty() ? "" : ", ") + ToString(chosen);
    opened.rails.push_back(std::make_unique<Rail>(devices[static_cast<size_t>(at - names.begin())],
                                                  std::move(chosen)));
  }
  opened.reason += ": " + choice.reason;
  return opened;
}

}  // namespace reigen::transport::rdma
