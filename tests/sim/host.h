// A simulated host: the worker's core and its network, and the trainers.
#ifndef REIGEN_TESTS_SIM_HOST_H_
#define REIGEN_TESTS_SIM_HOST_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/control/control.pb.h"
#include "runtime/base/clock.h"
#include "runtime/collective/executor.h"
#include "runtime/transport/fake/fake_network.h"
#include "tests/sim/ledger.h"
#include "tests/sim/scenario.h"
#include "tests/sim/trainer.h"
#include "worker/core/worker_core.h"
#include "worker/serve/network.h"

namespace reigen::sim {

// Faults in the product that the simulator must find; planted in its glue.
enum class Plant {
  kNone,
  kWrongInput,     // a host puts something else into a sum
  kSkippedBucket,  // a host says that a bucket is done and has not run it
  kLostReady,      // a message to the coordinator vanishes
  kLateWrite,      // memory is written to after its request was completed
  kSwappedPlans,   // a host runs two plans in another order
};

struct JobEnd {
  int code = 0;
  std::string reason;
};

// Does for WorkerCore what worker/serve does, without processes and sockets.
class Host {
 public:
  Host(const Scenario& scenario, Ledger* ledger, int number, transport::FakeNetwork* network,
       Plant plant);

  // From the coordinator, or about a trainer.
  void Push(worker::Event event) { events_.push_back(std::move(event)); }
  void KillTrainer(int local);

  // Everything that can be done at `now`.
  void Turn(Time now);
  // When it wants a turn although nothing came; its links are the network's.
  Time next() const;

  // For the coordinator, in order.
  std::vector<control::WorkerMessage> TakeMessages() { return std::exchange(messages_, {}); }

  const std::optional<JobEnd>& end() const { return end_; }
  bool quiet() const { return network_->engine().unfinished() == 0; }
  const std::vector<std::string>& plans() const { return plans_; }
  std::string StateText() const;

 private:
  void Apply(std::vector<worker::Action> actions);
  void Do(worker::Send& action);
  void Do(worker::BeginEpoch& action);
  void Do(worker::RefuseInit& action) { trainers_[action.local].OnRefused(); }
  void Do(worker::StartBucket& action);
  void Do(worker::Complete& action);
  void Do(worker::Release& action) { trainers_[action.local].OnReleased(); }
  void Do(worker::EndJob& action);

  void LetTrainersAct(Time now);
  void SendFinishedOnce();
  void Start(collective::Bucket bucket);
  bool Planted(Plant plant);

  const int number_;
  Ledger& ledger_;
  Plant plant_;  // becomes kNone when it has been planted
  int until_planted_;
  std::deque<worker::Event> events_;
  std::unique_ptr<collective::WorkExecutor> executor_;
  std::unique_ptr<worker::Network> network_;  // its end tells of cancelled buckets
  worker::WorkerCore core_;
  std::vector<Trainer> trainers_;
  std::vector<control::WorkerMessage> messages_;
  std::vector<std::string> plans_;
  std::optional<collective::Bucket> kept_back_;
  std::byte* late_ = nullptr;  // memory of a completed request
  Time next_heartbeat_{};
  bool finished_sent_ = false;
  std::optional<JobEnd> end_;
};

}  // namespace reigen::sim

#endif  // REIGEN_TESTS_SIM_HOST_H_
