#include "tests/sim/trainer.h"

#include <algorithm>
#include <numeric>

namespace reigen::sim {

Trainer::Trainer(const Scenario& scenario, Ledger* ledger, int rank, int local)
    : scenario_(scenario),
      ledger_(*ledger),
      rank_(rank),
      local_(local),
      random_(scenario.seed * 1000 + static_cast<uint64_t>(rank)) {
  Rest(Time{} + seconds(1));
}

// Trainers of a job are mostly close together, now and then far apart.
void Trainer::Rest(Time now) {
  const uint64_t most_us = random_() % 10 == 0 ? 60000 : 3000;
  next_ = now + std::chrono::microseconds(random_() % most_us);
}

bool Trainer::LeavesNow() const {
  const EpochScript& script = scenario_.epochs[epoch_];
  return script.leaver == rank_ && round_ == script.leaves_in;
}

bool Trainer::HasToSubmit() const { return to_submit_.size() > keep_back_; }

bool Trainer::Waits() const {
  if (state_ == State::kAbsent) return false;
  if (state_ != State::kMember) return true;
  return !HasToSubmit() && !LeavesNow() && ledger_.Waits(rank_);
}

std::optional<worker::Event> Trainer::Act(Time now) {
  if (Waits() || now < next_) return std::nullopt;
  Rest(now);
  if (state_ == State::kMember) return Continue();
  if (epoch_ < scenario_.epochs.size()) {
    state_ = State::kInInit;
    return worker::InitCalled{local_};
  }
  state_ = State::kEnded;
  return worker::TrainerEnded{local_, code_, 0, "exit " + std::to_string(code_)};
}

std::optional<worker::Event> Trainer::Continue() {
  if (HasToSubmit()) {
    const OperationKey key{epoch_, round_, to_submit_.back()};
    to_submit_.pop_back();
    return worker::Submitted{local_, ledger_.Submit(rank_, key, next_id_++)};
  }
  if (LeavesNow() || ++round_ == scenario_.epochs[epoch_].rounds.size()) return Leave();
  BeginRound();
  return std::nullopt;
}

worker::Event Trainer::Leave() {
  state_ = State::kLeaving;
  return worker::LeaveCalled{local_};
}

void Trainer::OnEpoch() {
  state_ = State::kMember;
  round_ = 0;
  BeginRound();
}

void Trainer::BeginRound() {
  const EpochScript& script = scenario_.epochs[epoch_];
  to_submit_.resize(script.rounds[round_].size());
  std::iota(to_submit_.begin(), to_submit_.end(), size_t{0});
  std::shuffle(to_submit_.begin(), to_submit_.end(), random_);
  keep_back_ = 0;
  if (LeavesNow()) keep_back_ = random_() % (to_submit_.size() + 1);
}

// As an exception that nobody catches.
void Trainer::OnRefused() {
  state_ = State::kAbsent;
  epoch_ = scenario_.epochs.size();
  code_ = 1;
}

void Trainer::OnReleased() {
  if (state_ != State::kLeaving) return;
  state_ = State::kAbsent;
  ++epoch_;
}

std::string Trainer::StateText() const {
  const char* const names[] = {"absent", "in init", "member", "leaving", "ended"};
  return "rank " + std::to_string(rank_) + " " + names[static_cast<int>(state_)] + " (epoch " +
         std::to_string(epoch_) + " round " + std::to_string(round_) + ")";
}

}  // namespace reigen::sim
