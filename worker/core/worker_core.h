// What a worker decides: matching of its trainers' requests, the plan stream,
// life of the trainers in the job.
#ifndef REIGEN_WORKER_CORE_WORKER_CORE_H_
#define REIGEN_WORKER_CORE_WORKER_CORE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "proto/control/control.pb.h"
#include "proto/local/local.h"
#include "runtime/base/clock.h"
#include "runtime/base/collective_id.h"
#include "runtime/base/status.h"
#include "runtime/collective/bucket.h"
#include "worker/core/plan_check.h"
#include "worker/core/request.h"
#include "worker/core/request_table.h"

namespace reigen::worker {

// --- what happens -------------------------------------------------------------
// `local` is a local rank: 0 ... ranks - 1.
struct InitCalled { int local = 0; };      // a trainer attached
struct Submitted { int local = 0; Request request; };
struct LeaveCalled { int local = 0; };     // it called shutdown
struct TrainerEnded {
  int local = 0;
  int code = 0;
  int signal = 0;
  std::string detail;
};
struct FromCoordinator { control::CoordinatorMessage message; };  // Entries, InitFailed, End
struct BucketEnded { CollectiveId id; Status status; };
struct LinkFailed { int peer = 0; std::string reason; };
// The worker ends by itself: the coordinator or the guard is gone.
struct GiveUp { int code = 0; std::string reason; };
struct HeartbeatDue {};
// The turn is over and the stream to the coordinator is free: what gathered goes.
struct Flush {};

using Event = std::variant<InitCalled, Submitted, LeaveCalled, TrainerEnded, FromCoordinator,
                           BucketEnded, LinkFailed, GiveUp, HeartbeatDue, Flush>;

// --- what is to be done, in order -----------------------------------------------
struct Send { control::WorkerMessage message; };
// Open streams and links for it, then tell every waiting trainer.
struct BeginEpoch { control::EpochBegin epoch; };
struct RefuseInit { int local = 0; std::string reason; };
// `done` is to be set by the caller: it leads to BucketEnded.
// Tensor i of the bucket is tensor tensors[i] of instances[i].
struct StartBucket {
  collective::Bucket bucket;
  std::vector<InstancePtr> instances;
  std::vector<uint32_t> tensors;
};
struct Complete {
  int local = 0;
  uint64_t request = 0;
  local::ResultCode code = local::ResultCode::kOk;
  std::string text;
};
// The trainer's shutdown is done: no bucket uses its memory any more.
struct Release { int local = 0; };
struct EndJob {
  int code = 0;
  std::string reason;
  bool by_coordinator = false;  // else this worker gave up
  // Trainers were told of a loss that is not theirs: they raise it, and mostly end.
  bool trainers_told = false;
};

using Action =
    std::variant<Send, BeginEpoch, RefuseInit, StartBucket, Complete, Release, EndJob>;

//   trainer:  absent --InitCalled--> in init --EpochBegin--> member
//                 \<--Release-- leaving <--LeaveCalled-------/
//
// A request waits in the table until all local members have it (or two disagree);
// then one Ready goes to the coordinator. The plan stream is followed in order: a
// Plan takes its requests out of the table and makes a bucket of their tensors; a
// Fail takes one request of its name from every local member, or the next one that
// comes. A request is complete when the buckets of all its tensors are done.
//
// Threads: none of its own; one caller.
// Buffers: the pointers in Request::data are handed on and never followed.
// Errors:  a bad request is completed with its error. What the coordinator says and
//          does not fit the requests here is answered by PlanFailed; a plan stream
//          out of order ends the job. Lost links fail no request: the verdict is the
//          coordinator's.
class WorkerCore {
 public:
  struct Options {
    int host = 0;
    std::vector<int> ranks;  // global, in local order
  };

  explicit WorkerCore(Options options);

  std::vector<Action> Step(Event event, Time now);

  // Whether Flush would send anything.
  bool wants_flush() const { return !table_.outbox().empty(); }
  bool ended() const { return ended_; }
  // Nothing waited or ran at the last heartbeat, and no request came since: the next
  // heartbeat may come later than in a busy time.
  bool quiet() const { return quiet_; }

 private:
  enum class State { kAbsent, kInInit, kMember, kLeaving, kLeft };

  void On(InitCalled& event);
  void On(Submitted& event);
  void On(LeaveCalled& event);
  void On(TrainerEnded& event);
  void On(FromCoordinator& event);
  void On(BucketEnded& event);
  void On(LinkFailed& event);
  void On(GiveUp& event);
  void On(HeartbeatDue& event);
  void On(Flush& event);

  void OnEntries(const control::Entries& entries);
  void OnEpochBegin(const control::EpochBegin& begin);
  void OnPlan(const control::Plan& plan);
  void OnFail(const control::Fail& fail);
  void OnLeft(const control::Left& left);

  Status CheckRequest(const Request& request) const;
  Status CheckEpoch(const control::EpochBegin& begin) const;
  void TensorsDone(const std::vector<InstancePtr>& instances);
  void ReleaseIfIdle(int local);
  void End(int code, const std::string& reason, bool by_coordinator = false);
  void PlanFailed(uint64_t sequence, const std::string& reason);
  void Finish(int local, uint64_t request, local::ResultCode code, const std::string& text);
  control::WorkerMessage& NewMessage();
  std::vector<bool> Members() const;

  const Options options_;
  Time now_{};
  bool quiet_ = false;
  std::vector<Action> actions_;  // of the present step
  RequestTable table_;
  std::vector<State> states_;    // per local rank
  std::vector<bool> init_sent_;  // per local rank: the coordinator counts it for an epoch
  std::map<CollectiveId, std::vector<InstancePtr>> running_;  // one for each tensor
  std::vector<int> running_of_;  // per local rank: instances planned and not done

  PlanContext epoch_;            // .epoch is 0 before the first
  uint64_t entries_seen_ = 0;
  bool ended_ = false;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_CORE_WORKER_CORE_H_
