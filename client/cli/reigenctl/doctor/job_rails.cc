#include "client/cli/reigenctl/doctor/job_rails.h"

#include <algorithm>
#include <utility>

#include "client/cli/reigenctl/doctor/phrases.h"
#include "runtime/transport/rdma/room.h"
#include "runtime/transport/rdma/verbs_types.h"
#include "runtime/transport/rdma/words.h"

namespace reigen::ctl {
namespace {

namespace rdma = transport::rdma;

const rdma::DeviceInfo& InfoOf(const std::vector<rdma::Candidate>& candidates,
                               const std::string& device) {
  return std::find_if(candidates.begin(), candidates.end(),
                      [&](const rdma::Candidate& each) { return each.name == device; })
      ->info;
}

// As a worker decides when it has that address.
JobRails RailsFor(const std::vector<rdma::Candidate>& candidates, const Wishes& wishes,
                  const std::string& address) {
  rdma::Wish wish = wishes.rdma;
  wish.networks.clear();
  if (!address.empty()) wish.networks.push_back(address);
  JobRails rails{{address}, rdma::ChooseRails(candidates, wish),
                 static_cast<size_t>(wishes.queues)};
  if (!rails.choice.ok()) return rails;
  std::vector<rdma::DeviceInfo> devices;
  for (const rdma::RailChoice& rail : rails.choice->rails) {
    devices.push_back(InfoOf(candidates, rail.device));
  }
  const StatusOr<rdma::Room> room = rdma::MeasureRoom(devices);
  if (room.ok()) {
    rails.queues = rdma::QueuesOfALink(wishes.queues, *room, devices.size());
  } else {
    rails.choice = room.status();
  }
  return rails;
}

bool Same(const JobRails& a, const JobRails& b) {
  if (a.choice.ok() != b.choice.ok()) return false;
  if (!a.choice.ok()) return Message(a.choice.status()) == Message(b.choice.status());
  return a.ports() == b.ports() && a.choice->reason == b.choice->reason;
}

}  // namespace

std::vector<std::string> JobRails::ports() const {
  std::vector<std::string> ports;
  if (!choice.ok()) return ports;
  for (const rdma::RailChoice& rail : choice->rails) ports.push_back(rdma::ToString(rail));
  return ports;
}

std::vector<std::string> JobRails::devices() const {
  std::vector<std::string> devices;
  if (!choice.ok()) return devices;
  for (const rdma::RailChoice& rail : choice->rails) {
    if (!Contains(devices, rail.device)) devices.push_back(rail.device);
  }
  return devices;
}

std::vector<JobRails> RailsOfJob(const std::vector<rdma::Candidate>& candidates,
                                 const Wishes& wishes, const std::vector<std::string>& addresses) {
  std::vector<JobRails> all;
  const auto add = [&](const std::string& address) {
    JobRails rails = RailsFor(candidates, wishes, address);
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const JobRails& each) { return Same(each, rails); });
    if (same == all.end()) {
      all.push_back(std::move(rails));
    } else {
      same->addresses.push_back(address);
    }
  };
  for (const std::string& address : addresses) add(address);
  if (addresses.empty()) add("");
  return all;
}

std::vector<std::string> UsableAlone(const std::vector<rdma::Candidate>& candidates,
                                     const Wishes& wishes,
                                     const std::vector<std::string>& addresses) {
  std::vector<std::string> usable;
  for (const rdma::Candidate& candidate : candidates) {
    Wishes alone = wishes;
    alone.rdma.devices = {candidate.name};
    const std::vector<JobRails> rails = RailsOfJob(candidates, alone, addresses);
    if (std::all_of(rails.begin(), rails.end(), [](const JobRails& r) { return r.choice.ok(); })) {
      usable.push_back(candidate.name);
    }
  }
  return usable;
}

uint64_t LockedBytesOf(const JobRails& rails, const Wishes& wishes, size_t hosts) {
  return rdma::LockedBytes(wishes.registered_bytes, std::max<size_t>(rails.devices().size(), 1),
                           hosts - 1, rails.queues);
}

std::string If(const std::vector<std::string>& addresses) {
  return "if the job takes " + Join(addresses, " or ") + ": ";
}

}  // namespace reigen::ctl
