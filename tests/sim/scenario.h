// What happens in one simulated job, made from a seed alone.
#ifndef REIGEN_TESTS_SIM_SCENARIO_H_
#define REIGEN_TESTS_SIM_SCENARIO_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/core/job_config.h"
#include "runtime/base/clock.h"
#include "runtime/transport/fake/fake_network.h"
#include "worker/core/request.h"

namespace reigen::sim {

using SpecPtr = std::shared_ptr<const worker::RequestSpec>;

// One name, asked for once by every rank.
struct Operation {
  std::string name;
  SpecPtr spec;
  int odd_rank = -1;  // asks for something else under that name
  SpecPtr odd_spec;

  bool disagrees() const { return odd_rank >= 0; }
  const SpecPtr& SpecOf(int rank) const { return rank == odd_rank ? odd_spec : spec; }
};

// Each rank submits a round's operations in an order of its own, then waits for
// all of them.
using Round = std::vector<Operation>;

struct EpochScript {
  std::vector<Round> rounds;
  // A rank that shuts down in round `leaves_in`, when it has submitted some of its
  // operations, and waits for nothing.
  int leaver = -1;
  size_t leaves_in = 0;
};

enum class FaultKind {
  kNone,
  kLinkDies,
  kHostDies,        // its stream to the coordinator breaks, too
  kHostGoesSilent,  // it does not
  kTrainerDies,
};

struct Fault {
  FaultKind kind = FaultKind::kNone;
  Time at{};
  int host = 0;
  int peer = 0;
  int local = 0;
};

struct Scenario {
  uint64_t seed = 0;
  coordinator::JobConfig config;
  size_t scratch_bytes = 0;
  transport::FakeOptions network;
  Duration max_control_delay{};
  std::vector<EpochScript> epochs;
  Fault fault;

  int hosts() const { return static_cast<int>(config.hosts.size()); }
  int size() const;
};

Scenario MakeScenario(uint64_t seed);

// For people: hosts, rounds, the fault.
std::string Describe(const Scenario& scenario);

}  // namespace reigen::sim

#endif  // REIGEN_TESTS_SIM_SCENARIO_H_
