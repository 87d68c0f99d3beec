#include "runtime/collective/schedule.h"

#include <bit>

#include "runtime/base/check.h"

namespace reigen::collective {
namespace {

std::vector<Step> Ring(int hosts, int self) {
  std::vector<Step> steps;
  const auto part = [&](int offset) {  // (self + offset) mod hosts, offset > -2 * hosts
    return static_cast<uint32_t>((self + offset + 2 * hosts) % hosts);
  };
  const int last = 2 * hosts - 3;
  for (int s = 0; s <= last; ++s) {
    const bool gather = s >= hosts - 1;
    Step step;
    step.send_number = step.recv_number = static_cast<uint32_t>(s);
    step.send_to = (self + 1) % hosts;
    step.recv_from = (self + hosts - 1) % hosts;
    step.send_part = part(-s - 1);
    step.recv_part = part(-s - 2);
    step.load = s == 0;
    step.on_receive = gather ? OnReceive::kKeep : OnReceive::kAddLocal;
    step.deliver = s >= hosts - 2;  // the last of the chain, then all of the gather
    step.send_final = step.recv_final = gather;
    steps.push_back(step);
  }
  return steps;
}

std::vector<Step> RecursiveDoubling(int hosts, int self) {
  std::vector<Step> steps;
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(hosts)));
  const int folded = hosts - power;  // pairs
  const auto rounds = static_cast<uint32_t>(std::countr_zero(static_cast<unsigned>(power)));
  const auto host_of = [&](int v) { return v < folded ? 2 * v : v + folded; };
  const bool in_pair = self < 2 * folded;

  if (in_pair && self % 2 == 1) {
    steps.push_back({.send_number = 0, .send_to = self - 1, .load = true});
    steps.push_back({.recv_number = rounds + 1, .recv_from = self - 1, .deliver = true});
    return steps;
  }
  if (in_pair) {
    steps.push_back({.recv_number = 0,
                     .recv_from = self + 1,
                     .load = true,
                     .on_receive = OnReceive::kHeldFirst});
  }
  const int v = in_pair ? self / 2 : self - folded;
  for (uint32_t round = 0; round < rounds; ++round) {
    const int partner = v ^ (1 << round);
    steps.push_back(
        {.send_number = round + 1,
         .recv_number = round + 1,
         .send_to = host_of(partner),
         .recv_from = host_of(partner),
         .load = steps.empty(),
         .on_receive = v < partner ? OnReceive::kHeldFirst : OnReceive::kReceivedFirst,
         .deliver = round + 1 == rounds});
  }
  if (in_pair) steps.push_back({.send_number = rounds + 1, .send_to = self + 1});
  return steps;
}

Step ReceiveWhole(int from, uint32_t number) {
  return {.recv_number = number, .recv_from = from, .deliver = true, .recv_final = true};
}

Step SendWhole(int to, uint32_t number, bool load) {
  return {.send_number = number, .send_to = to, .load = load, .send_final = true};
}

std::vector<Step> Chain(int hosts, int self, int root) {
  std::vector<Step> steps;
  const int place = (self - root + hosts) % hosts;
  const auto number = static_cast<uint32_t>(place);
  if (place > 0) steps.push_back(ReceiveWhole((self + hosts - 1) % hosts, number - 1));
  if (place < hosts - 1) steps.push_back(SendWhole((self + 1) % hosts, number, place == 0));
  return steps;
}

std::vector<Step> Tree(int hosts, int self, int root) {
  std::vector<Step> steps;
  const int place = (self - root + hosts) % hosts;
  // Hosts at places below 2^round have it before that round.
  const int round_of_receipt = std::bit_width(static_cast<unsigned>(place)) - 1;
  if (place > 0) {
    const int from = place - (1 << round_of_receipt);
    steps.push_back(ReceiveWhole((from + root) % hosts, static_cast<uint32_t>(round_of_receipt)));
  }
  for (int round = round_of_receipt + 1; place + (1 << round) < hosts; ++round) {
    const int to = (place + (1 << round) + root) % hosts;
    steps.push_back(SendWhole(to, static_cast<uint32_t>(round), steps.empty()));
  }
  return steps;
}

}  // namespace

std::vector<Step> MakeSchedule(Algorithm algorithm, int hosts, int self, int root) {
  REIGEN_CHECK(hosts >= 1 && self >= 0 && self < hosts && root >= 0 && root < hosts);
  switch (algorithm) {
    case Algorithm::kRing:
      return Ring(hosts, self);
    case Algorithm::kRecursiveDoubling:
      return RecursiveDoubling(hosts, self);
    case Algorithm::kChainBroadcast:
      return Chain(hosts, self, root);
    case Algorithm::kTreeBroadcast:
      return Tree(hosts, self, root);
    case Algorithm::kNone:
      break;
  }
  REIGEN_CHECK(false, "a schedule for no algorithm");
  return {};
}

int PartsOf(Algorithm algorithm, int hosts) { return algorithm == Algorithm::kRing ? hosts : 1; }

}  // namespace reigen::collective
