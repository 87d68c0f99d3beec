#include "tests/sim/ledger.h"

#include "runtime/reduce/reference.h"

namespace reigen::sim {

const Operation& Ledger::OperationOf(const OperationKey& key) const {
  const auto [epoch, round, index] = key;
  return scenario_.epochs[epoch].rounds[round][index];
}

worker::Request Ledger::Submit(int rank, const OperationKey& key, uint64_t id) {
  const Operation& operation = OperationOf(key);
  const SpecPtr& spec = operation.SpecOf(rank);
  Asked asked;
  asked.key = key;
  worker::Request request{
      .id = id, .name = operation.name, .process_set = 0, .spec = spec, .data = {}};
  for (size_t t = 0; t < spec->tensors.size(); ++t) {
    const worker::TensorSpec& tensor = spec->tensors[t];
    const uint64_t seed = scenario_.seed * 7919 + id * 31 + static_cast<uint64_t>(rank) * 1009 + t;
    asked.original.push_back(
        reduce::MakeData(tensor.dtype, reduce::Data::kPlain, tensor.count, seed));
  }
  asked.memory = asked.original;
  Asked& kept = asked_.emplace(std::pair(rank, id), std::move(asked)).first->second;
  for (auto& memory : kept.memory) request.data.push_back(memory.data());
  ranks_[key][rank] = id;
  return request;
}

bool Ledger::SomebodyLeftBefore(const OperationKey& key) const {
  const auto [epoch, round, index] = key;
  const EpochScript& script = scenario_.epochs[epoch];
  return script.leaver >= 0 && round >= script.leaves_in;
}

void Ledger::Complete(int rank, uint64_t id, local::ResultCode code, const std::string& text) {
  const auto it = asked_.find({rank, id});
  if (it == asked_.end())
    return Wrong("rank " + std::to_string(rank) + ": completion of no request");
  Asked& asked = it->second;
  const std::string& name = OperationOf(asked.key).name;
  if (asked.done) return Wrong(name + " completed twice on rank " + std::to_string(rank));
  asked.done = true;
  asked.code = code;
  asked.result = asked.memory;
  ++completions_;
  CheckCode(asked.key, rank, code, text);
  if (code == local::ResultCode::kOk) CheckValues(asked, rank);
}

void Ledger::CheckCode(const OperationKey& key, int rank, local::ResultCode code,
                       const std::string& text) {
  const Operation& operation = OperationOf(key);
  const std::string what = operation.name + " (round " + std::to_string(std::get<1>(key)) +
                           ") on rank " + std::to_string(rank) + ": ";
  if (code != local::ResultCode::kOk && text.empty()) Wrong(what + "an error without a word");
  if (code == local::ResultCode::kOk) {
    if (operation.disagrees()) Wrong(what + "ok although the ranks disagree");
    if (ranks_[key].size() != static_cast<size_t>(scenario_.size()))
      Wrong(what + "ok although a rank has not asked");
  } else if (operation.disagrees()) {
    const bool expected =
        code == local::ResultCode::kFailedPrecondition || job_may_fail_ || SomebodyLeftBefore(key);
    if (!expected) Wrong(what + "another error than disagreement: " + text);
  } else if (!job_may_fail_ && !SomebodyLeftBefore(key)) {
    Wrong(what + text);
  }
  for (const auto& [other, id] : ranks_[key]) {
    const Asked& asked = asked_.at({other, id});
    const bool both_ok = (code == local::ResultCode::kOk) == (asked.code == local::ResultCode::kOk);
    if (asked.done && !both_ok && !job_may_fail_) {
      Wrong(what + "another end than on rank " + std::to_string(other) + ": " + text);
    }
  }
}

void Ledger::CheckValues(const Asked& asked, int rank) {
  for (size_t t = 0; t < asked.result.size(); ++t) {
    std::string message;
    // The first rank against the reference, the others against it.
    const Asked* first = nullptr;
    for (const auto& [other, id] : ranks_[asked.key]) {
      const Asked& candidate = asked_.at({other, id});
      if (&candidate != &asked && candidate.done) first = &candidate;
    }
    if (first == nullptr) {
      message = CheckTensor(asked, t);
    } else if (first->code == local::ResultCode::kOk && first->result[t] != asked.result[t]) {
      message = "other bits than on another rank";
    }
    if (!message.empty()) {
      Wrong(OperationOf(asked.key).name + "[" + std::to_string(t) + "] on rank " +
            std::to_string(rank) + ": " + message);
    }
  }
}

std::string Ledger::CheckTensor(const Asked& asked, size_t t) {
  const worker::RequestSpec& spec = *OperationOf(asked.key).spec;
  const auto& ids = ranks_[asked.key];
  if (spec.kind == CollectiveKind::kBroadcast) {
    return asked.result[t] == asked_.at({spec.root, ids.at(spec.root)}).original[t]
               ? ""
               : "not the root's";
  }
  const DataType dtype = spec.tensors[t].dtype;
  // The coarsest wire type; a finer one is within its bounds.
  reduce::AllreduceCase expected{dtype,          dtype, spec.op,           spec.prescale,
                                 spec.postscale, 1,     scenario_.hosts(), {}};
  if (spec.op == ReduceOp::kAverage) expected.divisor = static_cast<uint64_t>(scenario_.size());
  for (const auto& [other, id] : ids) expected.inputs.push_back(asked_.at({other, id}).original[t]);
  std::string message;
  reduce::WithinR3(expected, asked.result[t], &message);
  return message;
}

bool Ledger::Waits(int rank) const {
  for (auto it = asked_.lower_bound({rank, 0}); it != asked_.end() && it->first.first == rank;
       ++it) {
    if (!it->second.done) return true;
  }
  return false;
}

std::string Ledger::Waiting() const {
  std::string text;
  for (const auto& [who, asked] : asked_) {
    if (asked.done) continue;
    text += " " + OperationOf(asked.key).name + " on rank " + std::to_string(who.first) + ";";
  }
  return text;
}

void Ledger::CheckNothingChanged() {
  for (const auto& [who, asked] : asked_) {
    if (asked.done && asked.memory != asked.result) {
      Wrong(OperationOf(asked.key).name + " on rank " + std::to_string(who.first) +
            ": written to after its completion");
    }
  }
}

}  // namespace reigen::sim
