// The plan stream of one epoch: what hosts announce goes in, numbered entries for
// all of them come out.
//
//   Ready --> Negotiation --agreed--> FusionPlanner --> NameDef, Plan
//                        \--failed-------------------> Fail
//   Leave ------------------------------------------> Fail ..., Left
//
// What is agreed is planned at the next Flush (or before a Left), all of it
// together: what arrived together is fused.
//
// Threads: as an int. Time is a parameter.
// Errors:  Announce and Note refuse what no worker may send.
#ifndef REIGEN_COORDINATOR_CORE_PLAN_STREAM_H_
#define REIGEN_COORDINATOR_CORE_PLAN_STREAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "coordinator/core/awaited.h"
#include "coordinator/core/fusion_planner.h"
#include "coordinator/core/job_config.h"
#include "coordinator/core/membership.h"
#include "coordinator/core/negotiation.h"
#include "proto/control/control.pb.h"
#include "runtime/base/collective_id.h"
#include "runtime/base/status.h"

namespace reigen::coordinator {

class PlanStream {
 public:
  // For membership.epoch(), which has just begun. Its first entry is EpochBegin.
  PlanStream(const JobConfig& config, const Membership& membership);

  Epoch epoch() const { return epoch_; }

  Status Announce(int host, const control::ReadyBatch& batch, Time now);
  Status Note(int host, const control::Heartbeat& heartbeat, Time now);
  void Leave(const std::vector<int>& ranks);
  // All that some rank waits for fails.
  void FailAll(local::ResultCode code, const std::string& reason, Time now);

  // The entries since the last call, in messages for all hosts.
  std::vector<std::shared_ptr<const control::CoordinatorMessage>> Flush();

  // Requests that have waited for at least `age`.
  std::vector<Awaited> AwaitedFor(Duration age, Time now) const {
    return waiting_.Collect(negotiation_, now, age);
  }
  // Names that failed since the last call.
  std::vector<std::string> TakeFailed() { return std::exchange(failed_, {}); }

  uint64_t plans() const { return planner_.plans(); }
  uint64_t failures() const { return failures_; }

 private:
  struct NameRecord {
    std::string name;
    std::shared_ptr<const control::RequestSpec> planned;  // its last spec
  };

  StatusOr<std::string> NameOf(const control::Ready& ready) const;
  StatusOr<std::vector<SpecGroup>> GroupsOf(int host, const control::Ready& ready) const;
  Status SeenBy(int host, uint64_t entries_seen);
  // Fails that this host had not processed when it sent what is handled now.
  bool IsVoid(const std::string& name, uint64_t entries_seen) const;
  void Settle();
  void AddFail(const NegotiationVerdict& verdict);
  void PlanAgreed();
  uint32_t IdOf(const std::string& name);
  control::Entry& NewEntry();

  const Epoch epoch_;
  const size_t max_names_;
  Negotiation negotiation_;
  FusionPlanner planner_;
  WaitingReports waiting_;
  std::vector<AgreedRequest> agreed_;

  std::vector<NameRecord> names_;  // id - 1
  std::unordered_map<std::string, uint32_t> ids_;

  std::unordered_map<std::string, uint64_t> last_fail_;  // entry, by name
  std::vector<uint64_t> seen_;                           // entries, by host
  std::vector<std::string> failed_;
  uint64_t failures_ = 0;

  std::vector<control::Entry> entries_;  // not flushed yet
  uint64_t entry_count_ = 0;
};

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CORE_PLAN_STREAM_H_
