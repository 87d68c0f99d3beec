// Steps of the collectives between hosts, as data.
#ifndef REIGEN_RUNTIME_COLLECTIVE_SCHEDULE_H_
#define REIGEN_RUNTIME_COLLECTIVE_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "runtime/base/collective_id.h"

namespace reigen::collective {

// What a host does with a message. It *holds* one piece of data at a time: first
// what it loads, later the outcome of the last step that received.
enum class OnReceive : uint8_t {
  kKeep,           // received
  kAddLocal,       // received (+) sum of this host's ranks
  kHeldFirst,      // held (+) received
  kReceivedFirst,  // received (+) held
};

// One step of one host. In order: load, then send what is held (as it is before
// the receive) and receive; the outcome is what is held from then on.
//
// Parts: a bucket is cut into parts (layout.h); a message is about one of them.
// Both ends know every part's size: an empty part is neither sent nor received.
struct Step {
  uint32_t send_number = 0;  // Tag.step, the same at both ends of a message
  uint32_t recv_number = 0;
  int send_to = -1;    // index of a host; -1: sends nothing
  int recv_from = -1;  // index of a host; -1: receives nothing
  uint32_t send_part = 0;
  uint32_t recv_part = 0;
  bool load = false;  // hold the sum of this host's ranks (broadcast: the root's
                      // tensor) of send_part first
  OnReceive on_receive = OnReceive::kKeep;
  bool deliver = false;     // the outcome is whole: this host's ranks get it
  bool send_final = false;  // the message has the tensors' type, not the partial
  bool recv_final = false;  // sums' (wire)
};

// The steps of host `self` of `hosts`, both indices in ring order.
//
// kRing: reduce-scatter, then all-gather, 2 * (hosts - 1) steps. Part q is chunk
//   (q - hash) mod hosts of each tensor; its chain begins at host q + 1, ends at
//   host q, which has the final value and passes it on.
//
//     hosts 3      host 0             host 1             host 2
//     step 0    send 2, add 1      send 0, add 2      send 1, add 0
//     step 1    send 1, add 0 = F  send 2, add 1 = F  send 0, add 2 = F
//     step 2    send 0, keep 2     send 1, keep 0     send 2, keep 1
//     step 3    send 2, keep 1     send 0, keep 2     send 1, keep 0
//
// kRecursiveDoubling: one part. With 2^k <= hosts and r = hosts - 2^k: hosts 2i
//   and 2i + 1 (i < r) fold into 2i, the 2^k left exchange over distances
//   1, 2, 4, ...; hosts 2i + 1 are sent the whole at the end.
// kChainBroadcast: one part; root, root + 1, ...
// kTreeBroadcast: one part; binomial, hosts that have it double in each round.
//
// Requires: hosts >= 1, self and root in [0, hosts), an algorithm but kNone.
std::vector<Step> MakeSchedule(Algorithm algorithm, int hosts, int self, int root);

// How many parts a bucket is cut into.
int PartsOf(Algorithm algorithm, int hosts);

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_SCHEDULE_H_
