// What is waited for: the requests that some ranks have and others do not, from
// what hosts announced and what their heartbeats say of requests that have not
// gathered on the host itself.
//
// Threads: as an int.
#ifndef REIGEN_COORDINATOR_CORE_AWAITED_H_
#define REIGEN_COORDINATOR_CORE_AWAITED_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/core/membership.h"
#include "coordinator/core/negotiation.h"
#include "proto/control/control.pb.h"
#include "runtime/base/clock.h"

namespace reigen::coordinator {

struct Awaited {
  std::string name = {};
  std::vector<int> have = {};     // ranks
  std::vector<int> missing = {};  // ranks
  Time since{};
  std::string why = {};  // what the missing ones have not done
  bool is_init = false;  // ranks that wait in init, not a request
};

class WaitingReports {
 public:
  explicit WaitingReports(size_t hosts) : by_host_(hosts) {}

  // The whole list of a host's heartbeat, in the place of its last one. Names that
  // `skip` wants are left out.
  template <typename Skip>
  void Replace(int host, const control::Heartbeat& heartbeat, Time now, const Skip& skip);
  // The host has announced it.
  void Remove(int host, const std::string& name) { by_host_[host].erase(name); }
  // It has a verdict.
  void Remove(const std::string& name);

  // Waiting for at least `age`, by name.
  std::vector<Awaited> Collect(const Negotiation& negotiation, Time now, Duration age) const;

 private:
  struct Report {
    std::vector<int> missing;
    Time since{};
  };

  void Insert(int host, const control::Waiting& waiting, Time now);

  std::vector<std::map<std::string, Report>> by_host_;
};

// Ranks that wait in init for others, if there are any.
std::optional<Awaited> AwaitedInit(const Membership& membership);

// Of what a heartbeat lists, so much is looked at.
int WaitingLimit();

template <typename Skip>
void WaitingReports::Replace(int host, const control::Heartbeat& heartbeat, Time now,
                             const Skip& skip) {
  by_host_[host].clear();
  int left = WaitingLimit();
  for (const control::Waiting& waiting : heartbeat.waiting()) {
    if (left-- == 0) break;
    if (!skip(waiting.name())) Insert(host, waiting, now);
  }
}

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CORE_AWAITED_H_
