// How plans, collectives and messages are told apart.
#ifndef REIGEN_RUNTIME_BASE_COLLECTIVE_ID_H_
#define REIGEN_RUNTIME_BASE_COLLECTIVE_ID_H_

#include <compare>
#include <cstdint>

namespace reigen {

// Membership generation: the coordinator's incarnation in the upper half, a
// counter in the lower; ordered as a number.
using Epoch = uint64_t;
constexpr Epoch MakeEpoch(uint32_t incarnation, uint32_t counter) {
  return (static_cast<Epoch>(incarnation) << 32) | counter;
}

// One execution of a bucket. Sequences of a stream never repeat in an epoch.
struct CollectiveId {
  Epoch epoch = 0;
  uint64_t sequence = 0;
  uint32_t stream = 0;

  auto operator<=>(const CollectiveId&) const = default;
};

// How a bucket travels between hosts. Numbers are part of the plan.
//
//   class small: kRecursiveDoubling     class large: kRing        (R2)
enum class Algorithm : uint8_t {
  kNone = 0,               // nothing moves between hosts: one host, or no bytes
  kRing = 1,               // all-reduce, one chain per chunk
  kRecursiveDoubling = 2,  // all-reduce, whole vectors, fold first
  kChainBroadcast = 3,     // root, next in ring order, ...: pipelined
  kTreeBroadcast = 4,      // binomial tree from the root: low latency
};

enum class CollectiveKind : uint8_t { kAllreduce = 0, kBroadcast = 1, kBarrier = 2 };

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_COLLECTIVE_ID_H_
