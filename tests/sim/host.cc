#include "tests/sim/host.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace reigen::sim {
namespace {

std::unique_ptr<worker::Network> MakeNetwork(const Scenario& scenario, int number,
                                             transport::FakeNetwork* fake,
                                             collective::WorkExecutor* executor) {
  const std::string& name = scenario.config.hosts[number].name;
  std::unique_ptr<transport::Transport> transport;
  if (scenario.hosts() > 1) transport = fake->AddHost(number, name);
  auto network =
      worker::Network::Make(number, scenario.scratch_bytes, std::move(transport), executor,
                            /*gpus=*/nullptr);
  REIGEN_CHECK(network.ok());
  return std::move(network).value();
}

std::string PlanText(const collective::Bucket& bucket) {
  std::string text = "epoch " + std::to_string(bucket.id.epoch) + " stream " +
                     std::to_string(bucket.id.stream) + " sequence " +
                     std::to_string(bucket.id.sequence) + " algorithm " +
                     std::to_string(static_cast<int>(bucket.algorithm)) + ":";
  for (const auto& tensor : bucket.tensors) {
    text += " " + std::to_string(tensor.name_hash) + "*" + std::to_string(tensor.count);
  }
  return text;
}

}  // namespace

Host::Host(const Scenario& scenario, Ledger* ledger, int number, transport::FakeNetwork* fake,
           Plant plant)
    : number_(number),
      ledger_(*ledger),
      plant_(plant),
      until_planted_(static_cast<int>(scenario.seed % 5)),
      executor_(collective::MakeInlineExecutor()),
      network_(MakeNetwork(scenario, number, fake, executor_.get())),
      core_({.host = number, .ranks = scenario.config.hosts[number].ranks}),
      next_heartbeat_(Time{} + seconds(1)) {
  const std::vector<int>& ranks = scenario.config.hosts[number].ranks;
  for (size_t local = 0; local < ranks.size(); ++local) {
    trainers_.emplace_back(scenario, ledger, ranks[local], static_cast<int>(local));
  }
  control::Attached attached;
  attached.set_host_name(scenario.config.hosts[number].name);
  messages_.emplace_back();
  *messages_.back().mutable_attached() = attached;
}

// The moment to plant a fault: not always the first chance.
bool Host::Planted(Plant plant) {
  if (plant_ != plant || until_planted_-- > 0) return false;
  plant_ = Plant::kNone;
  return true;
}

Time Host::next() const {
  Time next = next_heartbeat_;
  for (const Trainer& trainer : trainers_) {
    if (trainer.alive() && trainer.next()) next = std::min(next, *trainer.next());
  }
  return next;
}

void Host::Turn(Time now) {
  network_->Progress(now);
  LetTrainersAct(now);
  if (now >= next_heartbeat_ && !end_) {
    events_.push_back(worker::HeartbeatDue{});
    next_heartbeat_ = now + milliseconds(200);
  }
  for (worker::LostLink& lost : network_->TakeLostLinks()) {
    events_.push_back(worker::LinkFailed{lost.peer, lost.reason});
  }
  while (!events_.empty()) {
    worker::Event event = std::move(events_.front());
    events_.pop_front();
    Apply(core_.Step(std::move(event), now));
    network_->engine().Progress(now);
  }
  if (core_.wants_flush()) Apply(core_.Step(worker::Flush{}, now));
  SendFinishedOnce();
}

void Host::LetTrainersAct(Time now) {
  for (Trainer& trainer : trainers_) {
    if (!trainer.alive() || end_) continue;
    if (auto event = trainer.Act(now)) events_.push_back(std::move(*event));
  }
}

void Host::KillTrainer(int local) {
  if (!trainers_[local].alive()) return;
  trainers_[local].Kill();
  events_.push_back(worker::TrainerEnded{local, 1, 0, "killed by the scenario"});
}

void Host::SendFinishedOnce() {
  const bool all =
      std::none_of(trainers_.begin(), trainers_.end(), [](const Trainer& t) { return t.alive(); });
  if (!all || finished_sent_ || end_) return;
  finished_sent_ = true;
  messages_.emplace_back().mutable_finished();
}

void Host::Apply(std::vector<worker::Action> actions) {
  for (worker::Action& action : actions) {
    std::visit([this](auto& a) { Do(a); }, action);
  }
}

void Host::Do(worker::Send& action) {
  if (action.message.has_ready() && Planted(Plant::kLostReady)) return;
  messages_.push_back(std::move(action.message));
}

void Host::Do(worker::BeginEpoch& action) {
  const Status begun = network_->BeginEpoch(action.epoch);
  if (!begun.ok())
    ledger_.Wrong("host " + std::to_string(number_) + " cannot begin the epoch: " + Message(begun));
  for (Trainer& trainer : trainers_) trainer.OnEpoch();
}

void Host::Do(worker::StartBucket& action) {
  plans_.push_back(PlanText(action.bucket));
  action.bucket.done = [this, id = action.bucket.id](const Status& status) {
    events_.push_back(worker::BucketEnded{id, status});
  };
  collective::Bucket& bucket = action.bucket;
  if (Planted(Plant::kSkippedBucket)) return bucket.done(OkStatus());
  if (kept_back_) {
    Start(std::move(bucket));
    Start(std::move(*std::exchange(kept_back_, std::nullopt)));
  } else if (Planted(Plant::kSwappedPlans)) {
    plans_.pop_back();
    kept_back_ = std::move(bucket);
  } else {
    Start(std::move(bucket));
  }
}

void Host::Start(collective::Bucket bucket) {
  for (const collective::BucketTensor& tensor : bucket.tensors) {
    if (tensor.count == 0 || tensor.inputs.empty() || !Planted(Plant::kWrongInput)) continue;
    *const_cast<std::byte*>(tensor.inputs.front()) ^= std::byte{1};
  }
  for (const collective::BucketTensor& tensor : bucket.tensors) {
    if (tensor.count > 0 && !tensor.outputs.empty()) late_ = tensor.outputs.front();
  }
  network_->engine().Start(std::move(bucket));
}

void Host::Do(worker::Complete& action) {
  ledger_.Complete(trainers_[action.local].rank(), action.request, action.code, action.text);
  if (late_ != nullptr && action.code == local::ResultCode::kOk && Planted(Plant::kLateWrite)) {
    *late_ ^= std::byte{1};
  }
}

void Host::Do(worker::EndJob& action) {
  end_ = JobEnd{action.code, action.reason};
  network_->engine().CancelAll(Aborted("the job has ended"));
  for (Trainer& trainer : trainers_) trainer.Kill();
}

std::string Host::StateText() const {
  std::string text = "host " + std::to_string(number_) + ":";
  for (const Trainer& trainer : trainers_) text += " " + trainer.StateText();
  return text + (end_ ? ", ended; " : "; ");
}

}  // namespace reigen::sim
