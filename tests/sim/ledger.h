// Who asked for what, what came back, and whether that is right.
#ifndef REIGEN_TESTS_SIM_LEDGER_H_
#define REIGEN_TESTS_SIM_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "proto/local/local.h"
#include "tests/sim/scenario.h"
#include "worker/core/request.h"

namespace reigen::sim {

// Which operation: epoch of the script, round, index in the round.
using OperationKey = std::tuple<size_t, size_t, size_t>;

// Owns the memory of all requests, so that late writes are seen. One for all ranks.
class Ledger {
 public:
  Ledger(const Scenario& scenario, bool job_may_fail)
      : scenario_(scenario), job_may_fail_(job_may_fail) {}

  worker::Request Submit(int rank, const OperationKey& key, uint64_t id);
  void Complete(int rank, uint64_t id, local::ResultCode code, const std::string& text);

  // Whether the rank waits for something, and for what.
  bool Waits(int rank) const;
  std::string Waiting() const;
  // At the end: results that changed after their completion.
  void CheckNothingChanged();

  // What was wrong first; "" if nothing.
  const std::string& error() const { return error_; }
  void Wrong(const std::string& what) {
    if (error_.empty()) error_ = what;
  }
  size_t completions() const { return completions_; }

 private:
  struct Asked {
    OperationKey key;
    std::vector<std::vector<std::byte>> original;  // per tensor
    std::vector<std::vector<std::byte>> memory;
    std::vector<std::vector<std::byte>> result;  // as it was at the completion
    bool done = false;
    local::ResultCode code = local::ResultCode::kOk;
  };

  const Operation& OperationOf(const OperationKey& key) const;
  bool SomebodyLeftBefore(const OperationKey& key) const;
  void CheckCode(const OperationKey& key, int rank, local::ResultCode code, const std::string& text);
  void CheckValues(const Asked& asked, int rank);
  std::string CheckTensor(const Asked& asked, size_t tensor);

  const Scenario& scenario_;
  const bool job_may_fail_;  // a fault is part of the scenario
  std::map<std::pair<int, uint64_t>, Asked> asked_;        // by rank and request id
  std::map<OperationKey, std::map<int, uint64_t>> ranks_;  // request id of each rank
  std::string error_;
  size_t completions_ = 0;
};

}  // namespace reigen::sim

#endif  // REIGEN_TESTS_SIM_LEDGER_H_
