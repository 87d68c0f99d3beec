// Who is there: hosts and their heartbeats, ranks and how far they are, epochs.
//
//   rank:  starting --init--> in init --all are--> member --leave--> left
//                               ^  \--failed--> (as before)            |
//                               +------------- init ------------------+
//          any --its process ended--> ended
//
// A new epoch begins when all ranks of the job are in init.
//
// Threads: as an int. Time is a parameter.
// Errors:  a call that the rank's state does not allow is the worker's fault: its
//          stream is to be ended.
#ifndef REIGEN_COORDINATOR_CORE_MEMBERSHIP_H_
#define REIGEN_COORDINATOR_CORE_MEMBERSHIP_H_

#include <string>
#include <vector>

#include "coordinator/core/job_config.h"
#include "proto/control/control.pb.h"
#include "runtime/base/collective_id.h"
#include "runtime/base/status.h"

namespace reigen::coordinator {

enum class RankState { kStarting, kInInit, kMember, kLeft, kEnded };
std::string Name(RankState state);

struct HostMember {
  HostConfig config;
  control::Attached attached;  // link addresses and so on
  bool is_attached = false;
  bool finished = false;  // all its ranks ended, its output is drained
  Time heard{};           // last message
};

struct RankMember {
  int host = 0;
  RankState state = RankState::kStarting;
  RankState before_init = RankState::kStarting;
  bool came_back = false;  // has left, and called init since, which failed
  Time since{};  // of the state
  int code = 0;  // once ended
};

class Membership {
 public:
  Membership(const JobConfig& config, Time now);

  Status Attach(int host, const control::Attached& attached, Time now);
  // Its stream is gone: it gets no more messages.
  void Detach(int host) { hosts_[host].is_attached = false; }
  void Heard(int host, Time now) { hosts_[host].heard = now; }
  // This process stood still for `pause`: no host's fault.
  void Forgive(Duration pause);
  // Attached, and not heard of for `limit`.
  std::vector<int> Silent(Time now, Duration limit) const;

  Status Init(int host, const std::vector<int>& ranks, Time now);
  Status Leave(int host, const std::vector<int>& ranks, Time now);
  Status End(int host, int rank, int code, Time now);
  Status Finish(int host);

  // All are in init: they become members of the next epoch.
  bool AllInInit() const;
  void BeginEpoch(Time now);
  // The waiting inits have failed: back to what they were.
  void AbandonInit(Time now);

  Epoch epoch() const { return counter_ == 0 ? 0 : MakeEpoch(incarnation_, counter_); }
  std::vector<int> InState(RankState state) const;
  // Has left, and may be about to end: it has not called init since.
  bool IsLeaving(int rank) const {
    return ranks_[rank].state == RankState::kLeft && !ranks_[rank].came_back;
  }
  bool AnyLeaving() const;
  std::vector<int> AttachedHosts() const;
  bool AllFinished() const;

  const std::vector<HostMember>& hosts() const { return hosts_; }
  const std::vector<RankMember>& ranks() const { return ranks_; }
  std::vector<std::vector<int>> HostRanks() const;
  // "host 1 (name)".
  std::string HostText(int host) const;

 private:
  Status CheckRank(int host, int rank) const;
  void Enter(int rank, RankState state, Time now);

  const uint32_t incarnation_;
  uint32_t counter_ = 0;
  std::vector<HostMember> hosts_;
  std::vector<RankMember> ranks_;
};

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CORE_MEMBERSHIP_H_
