#include "tests/sim/scenario.h"

#include <algorithm>
#include <random>

namespace reigen::sim {
namespace {

using worker::RequestSpec;
using worker::TensorSpec;

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15ull + 1) {}

  Scenario Make(uint64_t seed);

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  bool Chance(uint64_t percent) { return Below(100) < percent; }
  template <typename T>
  T OneOf(std::initializer_list<T> values) {
    return values.begin()[Below(values.size())];
  }

  void MakeJob(Scenario& scenario);
  EpochScript MakeEpoch();
  Operation MakeOperation(const std::string& name);
  std::shared_ptr<RequestSpec> MakeSpec();
  TensorSpec MakeTensor(const std::string& name);
  SpecPtr MakeOddSpec(const RequestSpec& spec);
  Fault MakeFault();

  std::mt19937_64 random_;
  int hosts_ = 1;
  int size_ = 0;
  std::vector<int> ranks_of_host_;
};

void Maker::MakeJob(Scenario& scenario) {
  hosts_ = static_cast<int>(Below(4) + 1);
  coordinator::JobConfig& config = scenario.config;
  config.job = "sim";
  for (int h = 0; h < hosts_; ++h) {
    coordinator::HostConfig host{"host" + std::to_string(h), {}};
    for (uint64_t r = Below(3) + 1; r > 0; --r) host.ranks.push_back(size_++);
    ranks_of_host_.push_back(static_cast<int>(host.ranks.size()));
    config.hosts.push_back(host);
  }
  config.fusion_threshold_bytes = OneOf<uint64_t>({1, 4096, 64 << 10});
  config.small_max_bytes = OneOf<uint64_t>({0, 256, 2048});
  config.segment_bytes = OneOf<uint64_t>({4096, 8192});
  config.channels = static_cast<uint32_t>(Below(3) + 1);
  config.wire_precision =
      OneOf({coordinator::WirePrecision::kAuto, coordinator::WirePrecision::kFp32,
             coordinator::WirePrecision::kTensor});
  // At least the window of the stream.
  scenario.scratch_bytes = 2 * config.channels * (config.segment_bytes + 128) + Below(1 << 16);
  scenario.network.seed = random_();
  scenario.network.channels = static_cast<int>(Below(3) + 1);
  scenario.network.max_delay =
      OneOf<Duration>({Duration{0}, std::chrono::microseconds(50), milliseconds(3)});
  scenario.max_control_delay = OneOf<Duration>({Duration{0}, milliseconds(1), milliseconds(20)});
}

TensorSpec Maker::MakeTensor(const std::string& name) {
  TensorSpec tensor;
  tensor.name = name;
  tensor.dtype = static_cast<DataType>(Below(kDataTypeCount));
  tensor.count = OneOf<uint64_t>({0, 1, 7, 100, 501, 6000});
  tensor.shape = {tensor.count};
  return tensor;
}

std::shared_ptr<RequestSpec> Maker::MakeSpec() {
  auto spec = std::make_shared<RequestSpec>();
  const uint64_t kind = Below(10);
  spec->kind = kind == 0  ? CollectiveKind::kBarrier
               : kind < 3 ? CollectiveKind::kBroadcast
                          : CollectiveKind::kAllreduce;
  if (spec->kind == CollectiveKind::kBarrier) return spec;
  const uint64_t tensors = Chance(20) ? Below(4) + 2 : 1;
  bool any_bool = false;
  for (uint64_t t = 0; t < tensors; ++t) {
    spec->tensors.push_back(MakeTensor("part" + std::to_string(t)));
    any_bool = any_bool || spec->tensors.back().dtype == DataType::kBool;
  }
  if (spec->kind == CollectiveKind::kBroadcast) {
    spec->root = static_cast<int>(Below(size_));
    return spec;
  }
  spec->op = OneOf(
      {ReduceOp::kAverage, ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct});
  if (any_bool && spec->op == ReduceOp::kAverage) spec->op = ReduceOp::kSum;
  if (!any_bool && Chance(20)) spec->prescale = OneOf({0.5, 2.0});
  if (!any_bool && Chance(20)) spec->postscale = OneOf({0.25, 3.0});
  return spec;
}

SpecPtr Maker::MakeOddSpec(const RequestSpec& spec) {
  auto odd = std::make_shared<RequestSpec>(spec);
  if (odd->tensors.empty()) {
    odd->kind = CollectiveKind::kAllreduce;
    odd->tensors.push_back(MakeTensor("part0"));
    return odd;
  }
  TensorSpec& tensor = odd->tensors[Below(odd->tensors.size())];
  switch (Below(4)) {
    case 0:
      tensor.count += 1;
      tensor.shape = {tensor.count};
      break;
    case 1:
      tensor.dtype = tensor.dtype == DataType::kInt32 ? DataType::kFloat32 : DataType::kInt32;
      break;
    case 2:
      tensor.shape = {1, tensor.count};
      break;
    default:
      if (odd->kind == CollectiveKind::kBroadcast && size_ > 1) {
        odd->root = (odd->root + 1) % size_;
      } else if (odd->kind == CollectiveKind::kAllreduce) {
        odd->op = odd->op == ReduceOp::kMax ? ReduceOp::kMin : ReduceOp::kMax;
      } else {
        odd->tensors.push_back(MakeTensor("more"));
      }
  }
  return odd;
}

Operation Maker::MakeOperation(const std::string& name) {
  const auto spec = MakeSpec();
  Operation operation{name, spec, -1, nullptr};
  if (size_ > 1 && Chance(10)) {
    operation.odd_rank = static_cast<int>(Below(size_));
    operation.odd_spec = MakeOddSpec(*spec);
  }
  return operation;
}

EpochScript Maker::MakeEpoch() {
  EpochScript script;
  Round repeated;  // the same requests again, as training does
  for (uint64_t i = Below(5); i > 0; --i)
    repeated.push_back(MakeOperation("w" + std::to_string(i)));
  for (uint64_t rounds = Below(5) + 1; rounds > 0; --rounds) {
    Round round;
    if (Chance(60)) round = repeated;
    for (uint64_t i = Below(6); i > 0; --i) round.push_back(MakeOperation("x" + std::to_string(i)));
    script.rounds.push_back(round);
  }
  if (size_ > 1 && Chance(15)) {
    script.leaver = static_cast<int>(Below(size_));
    script.leaves_in = Below(script.rounds.size());
  }
  return script;
}

Fault Maker::MakeFault() {
  Fault fault;
  if (!Chance(30)) return fault;
  fault.kind = OneOf({FaultKind::kLinkDies, FaultKind::kHostDies, FaultKind::kHostGoesSilent,
                      FaultKind::kTrainerDies});
  fault.host = static_cast<int>(Below(hosts_));
  fault.local = static_cast<int>(Below(ranks_of_host_[fault.host]));
  fault.at = Time{} + seconds(1) + milliseconds(50 + Below(400));
  if (fault.kind == FaultKind::kLinkDies && hosts_ == 1) fault.kind = FaultKind::kTrainerDies;
  if (hosts_ > 1) fault.peer = static_cast<int>((fault.host + 1 + Below(hosts_ - 1)) % hosts_);
  return fault;
}

Scenario Maker::Make(uint64_t seed) {
  Scenario scenario;
  scenario.seed = seed;
  MakeJob(scenario);
  for (uint64_t epochs = Below(3) + 1; epochs > 0; --epochs) scenario.epochs.push_back(MakeEpoch());
  scenario.fault = MakeFault();
  return scenario;
}

}  // namespace

int Scenario::size() const {
  size_t all = 0;
  for (const auto& host : config.hosts) all += host.ranks.size();
  return static_cast<int>(all);
}

Scenario MakeScenario(uint64_t seed) { return Maker(seed).Make(seed); }

std::string Describe(const Scenario& scenario) {
  std::string text =
      std::to_string(scenario.hosts()) + " hosts, " + std::to_string(scenario.size()) + " ranks;";
  for (const EpochScript& epoch : scenario.epochs) {
    text += " epoch of " + std::to_string(epoch.rounds.size()) + " rounds";
    if (epoch.leaver >= 0) {
      text += " (rank " + std::to_string(epoch.leaver) + " leaves in round " +
              std::to_string(epoch.leaves_in) + ")";
    }
    text += ";";
  }
  const Fault& fault = scenario.fault;
  const std::string where = " host " + std::to_string(fault.host);
  switch (fault.kind) {
    case FaultKind::kNone:
      break;
    case FaultKind::kLinkDies:
      text += " link of" + where + " and " + std::to_string(fault.peer) + " dies";
      break;
    case FaultKind::kHostDies:
      text += where + " dies";
      break;
    case FaultKind::kHostGoesSilent:
      text += where + " goes silent";
      break;
    case FaultKind::kTrainerDies:
      text += " trainer " + std::to_string(fault.local) + " of" + where + " dies";
      break;
  }
  return text;
}

}  // namespace reigen::sim
