#include "runtime/transport/rdma/pairing.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "runtime/base/rdma_kind.h"

namespace reigen::transport::rdma {
namespace {

using RailList = std::vector<RailAddress>;
using ByKind = std::map<std::string, std::vector<int>>;  // indexes of rails

ByKind Sorted(const RailList& rails) {
  ByKind by_kind;
  for (size_t i = 0; i < rails.size(); ++i) {
    by_kind[KindOf(rails[i])].push_back(static_cast<int>(i));
  }
  return by_kind;
}

const RailAddress& At(const RailList& rails, int index) { return rails[static_cast<size_t>(index)]; }

// By network and partition: full and limited members together. Without those that are down.
ByKind SortedByPartition(RailList rails) {
  for (RailAddress& rail : rails) rail.pkey |= kFullMember;
  ByKind by_kind = Sorted(rails);
  for (auto& [kind, indexes] : by_kind) {
    std::erase_if(indexes, [&](int i) { return At(rails, i).max_queues == 0; });
  }
  return by_kind;
}

// "a0:1, a1:1 and a2:1"
std::string List(const RailList& rails, const std::vector<int>& indexes) {
  std::string names;
  for (size_t i = 0; i < indexes.size(); ++i) {
    const RailAddress& rail = At(rails, indexes[i]);
    if (i > 0) names += i + 1 == indexes.size() ? " and " : ", ";
    names += rail.device + ":" + std::to_string(rail.port) + (rail.max_queues == 0 ? " (down)" : "");
  }
  return names;
}

// "here a0:1 and a1:1 speak RoCE v2 over IPv4, a2:1 speaks InfiniBand"
std::string Named(const RailList& rails, const std::string& where) {
  std::string text;
  for (const auto& [kind, indexes] : Sorted(rails)) {
    text += (text.empty() ? "" : ", ") + List(rails, indexes) +
            (indexes.size() == 1 ? " speaks " : " speak ") + kind;
  }
  return where + " " + (text.empty() ? "there is none" : text);
}

PortName NameOf(const RailAddress& rail) { return {rail.device, rail.port}; }

using Names = std::set<PortName>;

Names AllNames(const Offer& offer) {
  Names names(offer.left_out.begin(), offer.left_out.end());
  names.insert(offer.spare.begin(), offer.spare.end());
  for (const RailAddress& rail : offer.rails) names.insert(NameOf(rail));
  return names;
}

// Names whose likes are not to be used at the other end.
Names NotUsed(const Offer& offer, bool same_names) {
  Names names(offer.left_out.begin(), offer.left_out.end());
  if (same_names) names.insert(offer.spare.begin(), offer.spare.end());
  for (const RailAddress& rail : offer.rails) {
    if (rail.max_queues == 0) names.insert(NameOf(rail));
  }
  return names;
}

std::vector<int> Without(const std::vector<int>& indexes, const RailList& rails,
                         const Names& names) {
  std::vector<int> left;
  std::copy_if(indexes.begin(), indexes.end(), std::back_inserter(left),
               [&](int i) { return !names.contains(NameOf(At(rails, i))); });
  return left;
}

bool CanTalk(const RailAddress& a, const RailAddress& b) {
  return RdmaKindsTalk(KindOf(a), KindOf(b));
}

// Of one partition: `few` are no more than `many`. First of each pair: of the few.
std::vector<std::pair<int, int>> Pair(const RailList& few_rails, const std::vector<int>& few,
                                      const RailList& many_rails, const std::vector<int>& many) {
  std::vector<std::optional<int>> partners(few.size());
  std::vector<int> free = many;
  // The first that is free, with that name if there is one to look for.
  const auto take = [&](size_t i, const std::optional<PortName>& name) {
    const RailAddress& rail = At(few_rails, few[i]);
    const auto at = std::find_if(free.begin(), free.end(), [&](int j) {
      const RailAddress& other = At(many_rails, j);
      return CanTalk(rail, other) && (!name || NameOf(other) == *name);
    });
    if (at == free.end()) return;
    partners[i] = *at;
    free.erase(at);
  };
  for (size_t i = 0; i < few.size() && few.size() < many.size(); ++i) {
    take(i, NameOf(At(few_rails, few[i])));
  }
  const bool by_name = free.size() < many.size();
  std::vector<std::pair<int, int>> pairs;
  for (size_t i = 0; i < few.size(); ++i) {
    if (!partners[i] && !by_name) take(i, std::nullopt);
    if (partners[i]) pairs.emplace_back(few[i], *partners[i]);
  }
  if (few.size() == many.size() || by_name) return pairs;
  for (size_t i = 0; i < free.size() && !few.empty(); ++i) {
    const int again = few[i % few.size()];
    if (CanTalk(At(few_rails, again), At(many_rails, free[i]))) pairs.emplace_back(again, free[i]);
  }
  return pairs;
}

std::vector<RailPair> PairPartition(const RailList& a, const std::vector<int>& of_a,
                                    const RailList& b, const std::vector<int>& of_b) {
  std::vector<RailPair> pairs;
  if (of_a.size() <= of_b.size()) {
    for (const auto& [i, j] : Pair(a, of_a, b, of_b)) pairs.push_back({i, j});
  } else {
    for (const auto& [j, i] : Pair(b, of_b, a, of_a)) pairs.push_back({i, j});
  }
  return pairs;
}

// `a` and `b` in the order that both ends find.
std::vector<RailPair> PairWithout(const Offer& a, const Names& not_of_a, const Offer& b,
                                  const Names& not_of_b) {
  const ByKind there = SortedByPartition(b.rails);
  std::vector<RailPair> pairs;
  for (const auto& [partition, of_a] : SortedByPartition(a.rails)) {
    const auto at = there.find(partition);
    if (at == there.end()) continue;
    const std::vector<RailPair> some =
        PairPartition(a.rails, Without(of_a, a.rails, not_of_a), b.rails,
                      Without(at->second, b.rails, not_of_b));
    pairs.insert(pairs.end(), some.begin(), some.end());
  }
  return pairs;
}

std::vector<RailPair> PairAll(const Offer& a, const Offer& b) {
  const bool same_names = AllNames(a) == AllNames(b);
  std::vector<RailPair> pairs =
      PairWithout(a, NotUsed(b, same_names), b, NotUsed(a, same_names));
  return pairs.empty() ? PairWithout(a, {}, b, {}) : pairs;
}

bool ComesBefore(const Offer& a, const Offer& b) {
  return std::lexicographical_compare(
      a.rails.begin(), a.rails.end(), b.rails.begin(), b.rails.end(),
      [](const RailAddress& x, const RailAddress& y) {
        return std::tie(x.gid, x.device, x.port) < std::tie(y.gid, y.device, y.port);
      });
}

std::vector<std::string> Kinds(const RailList& rails) {
  std::vector<std::string> kinds;
  for (const RailAddress& rail : rails) kinds.push_back(KindOf(rail));
  return kinds;
}

}  // namespace

StatusOr<std::vector<RailPair>> PairRails(const Offer& local, const Offer& remote) {
  std::vector<RailPair> pairs;
  if (ComesBefore(remote, local)) {
    pairs = PairAll(remote, local);
    for (RailPair& pair : pairs) std::swap(pair.local, pair.remote);
  } else {
    pairs = PairAll(local, remote);
  }
  if (!pairs.empty()) return pairs;
  return FailedPrecondition("no two RDMA ports can talk: " + Named(local.rails, "here") + "; " +
                            Named(remote.rails, "at the other end") + " (" +
                            RdmaKindRemedy(Kinds(local.rails), Kinds(remote.rails)) + ")");
}

std::vector<RailPair> PlaceQueues(const std::vector<RailPair>& ways, const Offer& local,
                                  const Offer& remote) {
  const auto counted = [](const Offer& offer) {
    return std::max<size_t>(offer.channels, offer.rails.size());
  };
  const size_t wanted = std::max<size_t>(std::min(local.channels, remote.channels), ways.size());
  const size_t most = std::min({wanted, counted(local), counted(remote)});
  std::vector<int> here(local.rails.size()), there(remote.rails.size());  // queues by port
  std::vector<RailPair> queues;
  for (bool room = true; room && queues.size() < most;) {
    room = false;
    for (const RailPair& way : ways) {
      int& of_local = here[static_cast<size_t>(way.local)];
      int& of_remote = there[static_cast<size_t>(way.remote)];
      if (queues.size() == most || of_local == At(local.rails, way.local).max_queues ||
          of_remote == At(remote.rails, way.remote).max_queues) {
        continue;
      }
      room = true;
      ++of_local;
      ++of_remote;
      queues.push_back(way);
    }
  }
  return queues;
}

}  // namespace reigen::transport::rdma
