#include "tests/sim/world.h"

#include <algorithm>

namespace reigen::sim {
namespace {

constexpr Duration kTick = milliseconds(100);
// Events closer together than this are one moment.
constexpr Duration kGrain = std::chrono::microseconds(20);
constexpr Duration kJobLimit = seconds(60);
// Silence (3 s), a rank suspected after another left (2 s), and then some.
constexpr Duration kFaultLimit = seconds(8);

}  // namespace

World::World(const Scenario& scenario, Plant plant)
    : scenario_(scenario),
      random_(scenario.seed),
      now_(Time{} + seconds(1)),
      ledger_(scenario_, scenario.fault.kind != FaultKind::kNone),
      network_(scenario_.network),
      coordinator_(scenario_.config, now_),
      dead_(scenario.config.hosts.size()),
      to_coordinator_(scenario.config.hosts.size()),
      to_host_(scenario.config.hosts.size()),
      next_tick_(now_ + kTick) {
  const int planted = static_cast<int>(random_() % dead_.size());
  for (int h = 0; h < scenario_.hosts(); ++h) {
    hosts_.push_back(std::make_unique<Host>(scenario_, &ledger_, h, &network_,
                                            h == planted ? plant : Plant::kNone));
  }
}

template <typename T>
void World::Put(Pipe<T>& pipe, T message) {
  const auto most = static_cast<uint64_t>(scenario_.max_control_delay.count());
  pipe.last = std::max(pipe.last, now_ + Duration(most == 0 ? 0 : random_() % most));
  pipe.messages.emplace_back(pipe.last, std::move(message));
}

std::string World::Run() {
  while (!Over() && ledger_.error().empty()) {
    now_ = std::max(now_ + kGrain, NextTime());
    StrikeIfDue();
    StepCoordinator();
    TurnHosts();
    CheckTime();
  }
  CheckEnds();
  CheckPlans();
  ledger_.CheckNothingChanged();
  return ledger_.error();
}

Time World::NextTime() const {
  Time next = next_tick_;
  if (const auto network = network_.NextDeadline()) next = std::min(next, *network);
  if (!struck_ && scenario_.fault.kind != FaultKind::kNone)
    next = std::min(next, scenario_.fault.at);
  for (int h = 0; h < scenario_.hosts(); ++h) {
    if (dead_[h]) continue;
    next = std::min(next, hosts_[h]->next());
    if (!to_host_[h].messages.empty()) next = std::min(next, to_host_[h].messages.front().first);
    if (!to_coordinator_[h].messages.empty())
      next = std::min(next, to_coordinator_[h].messages.front().first);
  }
  return next;
}

void World::StrikeIfDue() {
  const Fault& fault = scenario_.fault;
  if (struck_ || fault.kind == FaultKind::kNone || now_ < fault.at) return;
  struck_ = true;
  switch (fault.kind) {
    case FaultKind::kLinkDies:
      network_.KillLink(fault.host, fault.peer);
      break;
    case FaultKind::kTrainerDies:
      hosts_[fault.host]->KillTrainer(fault.local);
      break;
    case FaultKind::kHostDies:
      stream_ended_ = fault.host;
      [[fallthrough]];
    case FaultKind::kHostGoesSilent:
      dead_[fault.host] = true;
      if (scenario_.hosts() > 1) network_.KillHost(fault.host);
      break;
    case FaultKind::kNone:
      break;
  }
}

void World::StepCoordinator() {
  std::vector<coordinator::Event> events;
  for (int h = 0; h < scenario_.hosts(); ++h) {
    auto& messages = to_coordinator_[h].messages;
    while (!dead_[h] && !messages.empty() && messages.front().first <= now_) {
      events.push_back(coordinator::HostMessage{h, std::move(messages.front().second)});
      messages.pop_front();
    }
  }
  if (stream_ended_) events.push_back(coordinator::HostStreamEnded{*stream_ended_, "it died"});
  stream_ended_.reset();
  if (now_ >= next_tick_) {
    events.push_back(coordinator::Tick{});
    next_tick_ = now_ + kTick;
  }
  if (!events.empty()) Carry(coordinator_.Step(std::move(events), now_));
}

void World::Carry(std::vector<coordinator::Action> actions) {
  for (coordinator::Action& action : actions) {
    if (auto* send = std::get_if<coordinator::SendToHosts>(&action)) {
      for (const int h : send->hosts) Put(to_host_[h], send->message);
    } else if (auto* drop = std::get_if<coordinator::DropHost>(&action)) {
      ledger_.Wrong("host " + std::to_string(drop->host) + " is dropped: " + drop->reason);
    }
  }
}

void World::TurnHosts() {
  for (int h = 0; h < scenario_.hosts(); ++h) {
    if (dead_[h]) continue;
    auto& messages = to_host_[h].messages;
    while (!messages.empty() && messages.front().first <= now_) {
      hosts_[h]->Push(worker::FromCoordinator{*messages.front().second});
      messages.pop_front();
    }
    hosts_[h]->Turn(now_);
    for (control::WorkerMessage& message : hosts_[h]->TakeMessages()) {
      Put(to_coordinator_[h], std::move(message));
    }
  }
}

bool World::Over() const {
  for (size_t h = 0; h < hosts_.size(); ++h) {
    if (!dead_[h] && (!hosts_[h]->end() || !hosts_[h]->quiet())) return false;
  }
  return true;
}

void World::CheckTime() {
  const bool late_after_fault = struck_ && now_ > scenario_.fault.at + kFaultLimit &&
                                coordinator_.Status(now_).state() != "running";
  if (now_ < Time{} + kJobLimit && !late_after_fault) return;
  std::string text = "the job does not end; waiting:" + ledger_.Waiting() + " ";
  for (const auto& host : hosts_) text += host->StateText();
  ledger_.Wrong(text + "coordinator: " + coordinator_.Status(now_).state());
}

void World::CheckEnds() {
  std::vector<int> allowed = {0};
  switch (scenario_.fault.kind) {
    case FaultKind::kNone:
      break;
    case FaultKind::kTrainerDies:
      allowed.push_back(1);
      break;
    case FaultKind::kLinkDies:
    case FaultKind::kHostDies:
    case FaultKind::kHostGoesSilent:
      allowed.push_back(71);
  }
  const Host* first = nullptr;
  for (size_t h = 0; h < hosts_.size(); ++h) {
    const auto& end = hosts_[h]->end();
    if (dead_[h] || !end) continue;
    const std::string what = "host " + std::to_string(h) + " ended with code " +
                             std::to_string(end->code) + ": " + end->reason;
    if (std::find(allowed.begin(), allowed.end(), end->code) == allowed.end()) ledger_.Wrong(what);
    if (first == nullptr) first = hosts_[h].get();
    if (end->code != first->end()->code || end->reason != first->end()->reason)
      ledger_.Wrong("not as others, " + what);
  }
  const std::string waiting = ledger_.Waiting();
  if (!waiting.empty() &&
      std::none_of(dead_.begin(), dead_.end(), [](bool dead) { return dead; })) {
    ledger_.Wrong("the job has ended and these wait:" + waiting);
  }
}

void World::CheckPlans() {
  for (size_t h = 1; h < hosts_.size(); ++h) {
    const auto& a = hosts_[0]->plans();
    const auto& b = hosts_[h]->plans();
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      if (a[i] != b[i])
        return ledger_.Wrong("host " + std::to_string(h) + " runs " + b[i] + ", host 0 " + a[i]);
    }
    if (scenario_.fault.kind == FaultKind::kNone && a.size() != b.size()) {
      return ledger_.Wrong("host " + std::to_string(h) + " runs " + std::to_string(b.size()) +
                           " plans, host 0 " + std::to_string(a.size()));
    }
  }
}

std::string RunSeed(uint64_t seed, Plant plant) {
  const Scenario scenario = MakeScenario(seed);
  World world(scenario, plant);
  const std::string wrong = world.Run();
  if (wrong.empty()) return "";
  return "--seed=" + std::to_string(seed) + " (" + Describe(scenario) + "): " + wrong;
}

}  // namespace reigen::sim
