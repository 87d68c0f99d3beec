#include "runtime/collective/schedule.h"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace reigen::collective {
namespace {

// A value as the tree of operands it was made from: "(1+2)".
struct Symbol {
  std::string tree;
  bool final = false;  // has the tensors' type, not that of partial sums
};

std::string Sum(const std::string& left, const std::string& right) {
  return "(" + left + "+" + right + ")";
}

// Runs the schedules of all hosts at once on symbols instead of numbers.
class SymbolicRun {
 public:
  using Exists = std::function<bool(uint32_t part)>;

  SymbolicRun(Algorithm algorithm, int hosts, int root, Exists exists)
      : broadcast_(algorithm == Algorithm::kChainBroadcast || algorithm == Algorithm::kTreeBroadcast),
        exists_(std::move(exists)),
        hosts_(hosts) {
    for (int h = 0; h < hosts; ++h) hosts_[h].steps = MakeSchedule(algorithm, hosts, h, root);
    for (bool moved = true; moved;) {
      moved = false;
      for (int h = 0; h < hosts; ++h) {
        while (RunStep(h)) moved = true;
      }
    }
  }

  bool AllEnded() const {
    for (const Host& host : hosts_) {
      if (host.at < host.steps.size()) return false;
    }
    return true;
  }
  bool NothingUnderWay() const { return messages_.empty(); }
  int largest_number() const { return largest_number_; }

  // What a host gave its ranks for a part; empty if nothing.
  std::string Delivered(int host, uint32_t part) const {
    const auto& delivered = hosts_[host].delivered;
    return delivered.contains(part) ? delivered.at(part) : "";
  }
  // How often a host's own data went in.
  int Loads(int host, uint32_t part) const {
    const auto& loads = hosts_[host].loads;
    return loads.contains(part) ? loads.at(part) : 0;
  }

 private:
  struct Host {
    std::vector<Step> steps;
    size_t at = 0;
    bool sent = false;
    std::optional<Symbol> held;
    std::map<uint32_t, std::string> delivered;
    std::map<uint32_t, int> loads;
  };
  using Key = std::tuple<int, int, uint32_t, uint32_t>;  // from, to, step, part

  bool RunStep(int h) {
    Host& host = hosts_[h];
    if (host.at == host.steps.size()) return false;
    const Step& step = host.steps[host.at];
    if (!host.sent) LoadAndSend(h, step);
    host.sent = true;
    if (step.recv_from >= 0 && exists_(step.recv_part)) {
      const auto message = messages_.find({step.recv_from, h, step.recv_number, step.recv_part});
      if (message == messages_.end()) return false;
      Receive(h, step, message->second);
      messages_.erase(message);
    }
    host.sent = false;
    ++host.at;
    return true;
  }

  void LoadAndSend(int h, const Step& step) {
    Host& host = hosts_[h];
    if (!exists_(step.send_part)) return;
    if (step.load) {
      host.held = Symbol{std::to_string(h), broadcast_};
      ++host.loads[step.send_part];
      if (broadcast_) host.delivered[step.send_part] = host.held->tree;
    }
    if (step.send_to < 0) return;
    ASSERT_TRUE(host.held.has_value());
    EXPECT_EQ(host.held->final, step.send_final);
    EXPECT_NE(step.send_to, h);
    const Key key{h, step.send_to, step.send_number, step.send_part};
    EXPECT_TRUE(messages_.emplace(key, *host.held).second) << "a tag used twice";
    largest_number_ = std::max(largest_number_, static_cast<int>(step.send_number));
  }

  void Receive(int h, const Step& step, Symbol got) {
    Host& host = hosts_[h];
    EXPECT_EQ(got.final, step.recv_final);
    switch (step.on_receive) {
      case OnReceive::kKeep:
        break;
      case OnReceive::kAddLocal:
        got = {Sum(got.tree, std::to_string(h)), step.deliver};
        ++host.loads[step.recv_part];
        break;
      case OnReceive::kHeldFirst:
        got = {Sum(host.held->tree, got.tree), false};
        break;
      case OnReceive::kReceivedFirst:
        got = {Sum(got.tree, host.held->tree), false};
        break;
    }
    host.held = got;
    if (!step.deliver) return;
    EXPECT_TRUE(host.delivered.emplace(step.recv_part, got.tree).second) << "delivered twice";
  }

  const bool broadcast_;
  const Exists exists_;
  std::vector<Host> hosts_;
  std::map<Key, Symbol> messages_;
  int largest_number_ = 0;
};

bool Always(uint32_t) { return true; }

// R2, large: a chain per part q: q + 1, q + 2, ..., q.
std::string ChainTree(int hosts, int part) {
  std::string tree = std::to_string((part + 1) % hosts);
  for (int i = 2; i <= hosts; ++i) tree = Sum(tree, std::to_string((part + i) % hosts));
  return tree;
}

// R2, small: fold the first 2r in pairs, then a binary tree in order.
std::string FoldedTree(int hosts) {
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(hosts)));
  const int folded = hosts - power;
  std::vector<std::string> level;
  for (int i = 0; i < folded; ++i) level.push_back(Sum(std::to_string(2 * i), std::to_string(2 * i + 1)));
  for (int h = 2 * folded; h < hosts; ++h) level.push_back(std::to_string(h));
  while (level.size() > 1) {
    std::vector<std::string> next;
    for (size_t i = 0; i < level.size(); i += 2) next.push_back(Sum(level[i], level[i + 1]));
    level = next;
  }
  return level.front();
}

class EachHostCountTest : public testing::TestWithParam<int> {};

TEST_P(EachHostCountTest, RingReducesEachPartAsAChainAndGivesItToAll) {
  const int hosts = GetParam();
  const SymbolicRun run(Algorithm::kRing, hosts, 0, Always);
  ASSERT_TRUE(run.AllEnded());
  EXPECT_TRUE(run.NothingUnderWay());
  if (hosts == 1) return;  // nothing to do
  EXPECT_EQ(run.largest_number(), 2 * hosts - 3);
  for (int part = 0; part < hosts; ++part) {
    const std::string tree = ChainTree(hosts, part);
    for (int h = 0; h < hosts; ++h) {
      ASSERT_EQ(run.Delivered(h, part), tree) << "host " << h << " part " << part;
      ASSERT_EQ(run.Loads(h, part), 1);
    }
  }
}

TEST_P(EachHostCountTest, RecursiveDoublingReducesAsTheFoldedTree) {
  const int hosts = GetParam();
  const SymbolicRun run(Algorithm::kRecursiveDoubling, hosts, 0, Always);
  ASSERT_TRUE(run.AllEnded());
  EXPECT_TRUE(run.NothingUnderWay());
  if (hosts == 1) return;
  const std::string tree = FoldedTree(hosts);
  for (int h = 0; h < hosts; ++h) {
    ASSERT_EQ(run.Delivered(h, 0), tree) << "host " << h;
    ASSERT_EQ(run.Loads(h, 0), 1);
  }
}

TEST_P(EachHostCountTest, BroadcastsBringTheRootsTensorToAll) {
  const int hosts = GetParam();
  for (const Algorithm algorithm : {Algorithm::kChainBroadcast, Algorithm::kTreeBroadcast}) {
    for (int root = 0; root < hosts; ++root) {
      const SymbolicRun run(algorithm, hosts, root, Always);
      ASSERT_TRUE(run.AllEnded());
      ASSERT_TRUE(run.NothingUnderWay());
      if (hosts == 1) continue;
      for (int h = 0; h < hosts; ++h) {
        ASSERT_EQ(run.Delivered(h, 0), std::to_string(root));
        ASSERT_EQ(run.Loads(h, 0), h == root ? 1 : 0);
      }
    }
  }
}

TEST_P(EachHostCountTest, TreeBroadcastTakesLogarithmicallyManyRounds) {
  const int hosts = GetParam();
  const SymbolicRun run(Algorithm::kTreeBroadcast, hosts, 0, Always);
  const int rounds = std::bit_width(static_cast<unsigned>(hosts - 1));
  EXPECT_EQ(run.largest_number() + 1, std::max(rounds, 1));
}

TEST_P(EachHostCountTest, EmptyPartsMoveNothingAndHoldNothingUp) {
  const int hosts = GetParam();
  for (const uint32_t keep : {1u, 2u, 3u, 5u}) {
    const auto exists = [&](uint32_t part) { return part % keep == 0; };
    const SymbolicRun run(Algorithm::kRing, hosts, 0, exists);
    ASSERT_TRUE(run.AllEnded());
    ASSERT_TRUE(run.NothingUnderWay());
    if (hosts == 1) continue;
    for (int part = 0; part < hosts; ++part) {
      const std::string expected = exists(part) ? ChainTree(hosts, part) : "";
      for (int h = 0; h < hosts; ++h) ASSERT_EQ(run.Delivered(h, part), expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Hosts, EachHostCountTest, testing::Range(1, 65));

TEST(ScheduleTest, RingHasAPartPerHostAndTheOthersHaveOne) {
  EXPECT_EQ(PartsOf(Algorithm::kRing, 5), 5);
  EXPECT_EQ(PartsOf(Algorithm::kRecursiveDoubling, 5), 1);
  EXPECT_EQ(PartsOf(Algorithm::kTreeBroadcast, 5), 1);
}

}  // namespace
}  // namespace reigen::collective
