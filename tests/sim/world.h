// A whole job in one thread: coordinator, hosts, trainers, network, virtual time.
#ifndef REIGEN_TESTS_SIM_WORLD_H_
#define REIGEN_TESTS_SIM_WORLD_H_

#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/core/core.h"
#include "proto/control/control.pb.h"
#include "runtime/base/clock.h"
#include "runtime/transport/fake/fake_network.h"
#include "tests/sim/host.h"
#include "tests/sim/ledger.h"
#include "tests/sim/scenario.h"

namespace reigen::sim {

// Runs one scenario to its end and checks:
//
//   same plans in the same order on every host
//   right sums, the same bits on every rank, and no error without a cause
//   every wait ends; after a fault within the time that the design allows
//   memory is not written to after its request has ended
//
// All that is random comes from the scenario's seed: a run repeats exactly.
class World {
 public:
  World(const Scenario& scenario, Plant plant);

  // "" if all is well, else what was wrong first.
  std::string Run();
  size_t completions() const { return ledger_.completions(); }

 private:
  // A direction of a stream between host and coordinator: delayed, in order.
  template <typename T>
  struct Pipe {
    std::deque<std::pair<Time, T>> messages;
    Time last{};
  };
  using Message = std::shared_ptr<const control::CoordinatorMessage>;

  template <typename T>
  void Put(Pipe<T>& pipe, T message);
  Time NextTime() const;
  void StrikeIfDue();
  void StepCoordinator();
  void Carry(std::vector<coordinator::Action> actions);
  void TurnHosts();
  bool Over() const;
  void CheckTime();
  void CheckEnds();
  void CheckPlans();

  const Scenario scenario_;
  std::mt19937_64 random_;
  Time now_;
  Ledger ledger_;
  transport::FakeNetwork network_;
  coordinator::CoordinatorCore coordinator_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<bool> dead_;
  std::vector<Pipe<control::WorkerMessage>> to_coordinator_;
  std::vector<Pipe<Message>> to_host_;
  std::optional<int> stream_ended_;  // the coordinator is to be told
  Time next_tick_;
  bool struck_ = false;
};

// Runs a seed; "" or a line with what was wrong and how to see it again.
std::string RunSeed(uint64_t seed, Plant plant);

}  // namespace reigen::sim

#endif  // REIGEN_TESTS_SIM_WORLD_H_
