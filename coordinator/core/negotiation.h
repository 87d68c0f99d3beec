// Which requests all hosts of an epoch have, and where they disagree.
//
//   (unknown) --first Announce--> pending --last host--------> agreed
//                                    \----specs differ-------> failed (at once)
//                                    \----a member left------> failed
//
// A verdict uses up one request of the name: after it the name is unknown again.
// All members of the epoch are one process set.
//
// Threads: as an int. Time is a parameter, nothing is done by itself.
// Errors:  Announce refuses what no worker may send; what a trainer asked for
//          wrongly is a failed verdict.
#ifndef REIGEN_COORDINATOR_CORE_NEGOTIATION_H_
#define REIGEN_COORDINATOR_CORE_NEGOTIATION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "coordinator/core/request_spec.h"
#include "proto/control/control.pb.h"
#include "proto/local/local.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace reigen::coordinator {

struct NegotiationVerdict {
  std::string name;
  local::ResultCode code = local::ResultCode::kOk;
  std::string reason;                                // of a failure
  std::shared_ptr<const control::RequestSpec> spec;  // of an agreement
};

class Negotiation {
 public:
  struct Pending {
    std::vector<SpecGroup> groups;
    std::vector<bool> announced;  // by host
    size_t hosts = 0;             // how many announced it
    Time since{};
  };

  // host_ranks[h]: the ranks of host h; all ranks are 0 ... size - 1.
  explicit Negotiation(std::vector<std::vector<int>> host_ranks);

  // `host` has the request; groups are its ranks' descriptions.
  Status Announce(int host, const std::string& name, std::vector<SpecGroup> groups, Time now);

  // No request that is not agreed yet can be met from here on.
  void Leave(const std::vector<int>& ranks);

  // A failed verdict for `name`, whether it is known here or not.
  void Fail(const std::string& name, local::ResultCode code, const std::string& reason);

  // In the order in which they came about.
  std::vector<NegotiationVerdict> Take();

  const std::unordered_map<std::string, Pending>& pending() const { return pending_; }
  const std::vector<std::vector<int>>& host_ranks() const { return host_ranks_; }
  int size() const { return size_; }

 private:
  Status CheckRanks(int host, const std::vector<SpecGroup>& groups) const;
  std::string LeftReason(const std::string& name) const;
  void Decide(const std::string& name, const Pending& pending);

  const std::vector<std::vector<int>> host_ranks_;
  std::vector<int> host_of_rank_;
  int size_ = 0;
  std::set<int> left_;
  std::unordered_map<std::string, Pending> pending_;
  std::vector<NegotiationVerdict> verdicts_;
};

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CORE_NEGOTIATION_H_
