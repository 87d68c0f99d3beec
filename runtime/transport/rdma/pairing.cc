#include "runtime/transport/rdma/pairing.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
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

// "a0:1, a1:1 and a2:1"
std::string List(const RailList& rails, const std::vector<int>& indexes) {
  std::string names;
  for (size_t i = 0; i < indexes.size(); ++i) {
    const RailAddress& rail = At(rails, indexes[i]);
    if (i > 0) names += i + 1 == indexes.size() ? " and " : ", ";
    names += rail.device + ":" + std::to_string(rail.port);
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

// Those of `indexes` whose like is in use at the other end, or may be.
std::vector<int> InUse(const RailList& rails, const std::vector<int>& indexes,
                       const std::vector<PortName>& left_out) {
  std::vector<int> used;
  for (const int i : indexes) {
    const PortName name = NameOf(At(rails, i));
    if (std::find(left_out.begin(), left_out.end(), name) == left_out.end()) used.push_back(i);
  }
  return used;
}

// Of one kind: `few` are no more than `many`. First of each pair: of the few.
std::vector<std::pair<int, int>> Pair(const RailList& few_rails, const std::vector<int>& few,
                                      const RailList& many_rails, const std::vector<int>& many) {
  std::vector<std::optional<int>> partners(few.size());
  std::vector<int> free = many;
  const auto take = [&](size_t i, std::vector<int>::iterator at) {
    partners[i] = *at;
    free.erase(at);
  };
  for (size_t i = 0; i < few.size() && few.size() < many.size(); ++i) {
    const PortName name = NameOf(At(few_rails, few[i]));
    const auto at = std::find_if(free.begin(), free.end(),
                                 [&](int j) { return NameOf(At(many_rails, j)) == name; });
    if (at != free.end()) take(i, at);
  }
  const bool by_name = free.size() < many.size();
  std::vector<std::pair<int, int>> pairs;
  for (size_t i = 0; i < few.size(); ++i) {
    if (!partners[i]) take(i, free.begin());
    pairs.emplace_back(few[i], *partners[i]);
  }
  for (size_t i = 0; i < free.size() && !by_name; ++i) {
    pairs.emplace_back(few[i % few.size()], free[i]);
  }
  return pairs;
}

// `a` and `b` in the order that both ends find.
std::vector<RailPair> PairAll(const Offer& a, const Offer& b) {
  const ByKind of_b = Sorted(b.rails);
  std::vector<RailPair> pairs;
  for (const auto& [kind, all_of_a] : Sorted(a.rails)) {
    const auto at = of_b.find(kind);
    if (at == of_b.end()) continue;
    std::vector<int> from_a = InUse(a.rails, all_of_a, b.left_out);
    std::vector<int> from_b = InUse(b.rails, at->second, a.left_out);
    if (from_a.empty() || from_b.empty()) {
      from_a = all_of_a;
      from_b = at->second;
    }
    if (from_a.size() <= from_b.size()) {
      for (const auto& [i, j] : Pair(a.rails, from_a, b.rails, from_b)) pairs.push_back({i, j});
    } else {
      for (const auto& [j, i] : Pair(b.rails, from_b, a.rails, from_a)) pairs.push_back({i, j});
    }
  }
  return pairs;
}

bool ComesBefore(const Offer& a, const Offer& b) {
  return std::lexicographical_compare(
      a.rails.begin(), a.rails.end(), b.rails.begin(), b.rails.end(),
      [](const RailAddress& x, const RailAddress& y) {
        return std::tie(x.gid, x.device, x.port) < std::tie(y.gid, y.device, y.port);
      });
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
                            Named(remote.rails, "at the other end") + " (" + kRdmaKindRemedy +
                            ")");
}

}  // namespace reigen::transport::rdma
