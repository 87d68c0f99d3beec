// A simulated training process: follows its script, waits for what it asked for.
#ifndef REIGEN_TESTS_SIM_TRAINER_H_
#define REIGEN_TESTS_SIM_TRAINER_H_

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "tests/sim/ledger.h"
#include "tests/sim/scenario.h"
#include "worker/core/worker_core.h"

namespace reigen::sim {

//   absent --init--> in init --begun--> member --rounds--> leaving --released--> absent
//   absent, script over or init refused --> ended
class Trainer {
 public:
  Trainer(const Scenario& scenario, Ledger* ledger, int rank, int local);

  // What it does now, if its time has come and there is something to tell.
  std::optional<worker::Event> Act(Time now);
  // When it wants to act; none: it waits or has ended.
  std::optional<Time> next() const { return Waits() ? std::nullopt : std::optional(next_); }

  void OnEpoch();
  void OnReleased();
  void OnRefused();
  // Its process is gone: by itself, or killed at the end of the job.
  void Kill() { state_ = State::kEnded; }

  bool alive() const { return state_ != State::kEnded; }
  bool attached() const { return alive() && state_ != State::kAbsent; }
  std::string StateText() const;
  int rank() const { return rank_; }

 private:
  enum class State { kAbsent, kInInit, kMember, kLeaving, kEnded };

  bool Waits() const;
  bool LeavesNow() const;
  bool HasToSubmit() const;
  void BeginRound();
  std::optional<worker::Event> Continue();
  worker::Event Leave();
  void Rest(Time now);

  const Scenario& scenario_;
  Ledger& ledger_;
  const int rank_;
  const int local_;
  std::mt19937_64 random_;
  State state_ = State::kAbsent;
  Time next_{};
  size_t epoch_ = 0;  // of the script
  size_t round_ = 0;
  std::vector<size_t> to_submit_;  // of this round, last first
  size_t keep_back_ = 0;           // of a leaver: what it will not submit
  uint64_t next_id_ = 1;
  int code_ = 0;  // its process ends with
};

}  // namespace reigen::sim

#endif  // REIGEN_TESTS_SIM_TRAINER_H_
