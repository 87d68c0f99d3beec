// Which ports of two hosts the queues of a link join. Pure.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_PAIRING_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_PAIRING_H_

#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/rdma/path.h"
#include "runtime/transport/rdma/setup.h"

namespace reigen::transport::rdma {

// The ways between two ends, of which both find the same in the same order. Each network of
// an end may be one of its own for each port, so that the wrong pair costs the link:
//   - a port is not used if the one of its name (device and number) is left out there, or is
//     spare there and both ends have ports of the same names, so that they are each other's like;
//   - ports talk inside one partition, two limited members of it do not;
//   - of as many ports of a partition at both ends, the first here is joined with the first there
//     and so on;
//   - else those of the same name, if there are any: names say which are alike, and what has no
//     like is not used. Where no two have the same name, they are joined in order, and the fewer
//     begin again.
// The first of these rules is left where nothing could be joined with it.
//
// Errors: FailedPrecondition: no two can talk; it says what each end has, and what to do.
StatusOr<std::vector<RailPair>> PairRails(const Offer& local, const Offer& remote);

// What the queues for data join, at least one pair: the ways in turn. As many queues as both
// ends want, or as there are ways; no more than each port holds, nor than either end counts on
// for a link (QueuesOfALink()). Ways that find no room are left.
std::vector<RailPair> PlaceQueues(const std::vector<RailPair>& ways, const Offer& local,
                                  const Offer& remote);

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_PAIRING_H_
