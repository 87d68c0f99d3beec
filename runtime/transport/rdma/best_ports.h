// Which of a host's usable ports links take where nobody asked for any. Pure.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_BEST_PORTS_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_BEST_PORTS_H_

#include "runtime/transport/rdma/choice.h"

namespace reigen::transport::rdma {

inline constexpr char kOfNetwork[] = "on the job's network";

// Of all usable ports, which `choice` has, keeps those that ChooseRails() promises, and says why.
void KeepBest(const Wish& wish, Choice& choice);

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_BEST_PORTS_H_
