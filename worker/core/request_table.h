// The requests that wait, by (process set, name), and the names' ids.
#ifndef REIGEN_WORKER_CORE_REQUEST_TABLE_H_
#define REIGEN_WORKER_CORE_REQUEST_TABLE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "proto/control/control.pb.h"
#include "proto/local/local.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "worker/core/request.h"

namespace reigen::worker {

// The k-th request of one name, of all local ranks.
struct Instance {
  std::string name;
  uint32_t process_set = 0;
  std::vector<std::optional<Request>> requests;  // per local rank
  Time since{};
  bool announced = false;
  std::vector<bool> planned;     // per tensor; filled by the first plan
  uint32_t unplanned = 0;        // of its tensors
  uint32_t undone = 0;
  bool lost = false;             // a bucket of it failed: nothing completes it

  const RequestSpec& spec() const;  // of the first request there is
};
using InstancePtr = std::shared_ptr<Instance>;

// Why a request fails on arrival.
struct Failure {
  local::ResultCode code = local::ResultCode::kFailedPrecondition;
  std::string text;
};

struct FailedRequest {
  int local = 0;
  uint64_t request = 0;
};

// Threads: none of its own; one caller.
// Memory:  a name is kept as long as it has an id or something waits for it.
class RequestTable {
 public:
  using Key = std::pair<uint32_t, std::string>;
  struct OutItem {
    InstancePtr ready;  // or, if null:
    int leave = -1;     // a local rank
  };

  explicit RequestTable(size_t local_ranks) : local_ranks_(local_ranks) {}

  // Adds a request of a member. `members` says who must have it (per local rank).
  // Not added if a failure comes back: the one that waited for it, or that its name
  // is pending already for this rank.
  std::optional<Failure> Add(int local, Request request, const std::vector<bool>& members,
                             Time now);

  // The rank leaves: its requests that have not been announced are taken out and
  // put aside for TakeAbandoned; the others' are looked at again.
  void Leave(int local, const std::vector<bool>& members);
  std::vector<FailedRequest> TakeAbandoned(int local);

  // A Fail entry. What is taken out fails with it; members without the request
  // have their next one failed.
  std::vector<FailedRequest> Fail(uint32_t process_set, const std::string& name,
                                  const Failure& failure, const std::vector<bool>& members);

  // The instance a plan speaks of: announced, not all planned. Null if none.
  InstancePtr Find(uint32_t process_set, const std::string& name) const;
  // All its tensors are planned: it leaves the table; the spec becomes the last one.
  void TakePlanned(const InstancePtr& instance);
  // All its tensors are done: its ranks may use the name again.
  void Done(const Instance& instance);

  Status Define(uint32_t id, const std::string& name);
  const std::string* NameOf(uint32_t id) const;

  // What goes to the coordinator, in order; an instance that failed meanwhile has
  // left it. Fills in the message's Ready.
  const std::deque<OutItem>& outbox() const { return outbox_; }
  std::deque<OutItem> TakeOutbox() { return std::exchange(outbox_, {}); }
  void PushLeave(int local) { outbox_.push_back({nullptr, local}); }
  void FillReady(const Instance& instance, const std::vector<int>& ranks,
                 control::Ready& out) const;

  // Whether any rank's request waits for another's, or for a plan.
  bool waits() const;
  // Instances not announced that some member lacks, older than `limit`.
  std::vector<InstancePtr> Late(Time now, Duration limit) const;

  // Forgets everything; returns what was pending (also planned).
  std::vector<FailedRequest> Clear();

 private:
  struct NameState {
    InstancePtr waiting;
    std::vector<InstancePtr> running;  // planned and not done
    std::vector<std::deque<Failure>> fail_next;  // per local rank; empty or full size
    std::shared_ptr<const RequestSpec> last_planned;
  };

  void Announce(const InstancePtr& instance);
  void AnnounceIfReady(const InstancePtr& instance, const std::vector<bool>& members);
  void EraseIfUnused(const Key& key);
  bool Pending(const NameState& state, int local) const;

  const size_t local_ranks_;
  std::map<Key, NameState> names_;
  std::unordered_map<uint32_t, std::string> name_of_;
  std::unordered_map<std::string, uint32_t> id_of_;
  std::deque<OutItem> outbox_;
  std::map<int, std::vector<FailedRequest>> abandoned_;  // by local rank
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_CORE_REQUEST_TABLE_H_
