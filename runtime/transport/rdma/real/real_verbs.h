// The verbs of this machine (libibverbs).
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_REAL_REAL_VERBS_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_REAL_REAL_VERBS_H_

#include <memory>

#include "runtime/base/status.h"
#include "runtime/transport/rdma/verbs.h"

namespace reigen::transport::rdma {

// Makes fork() harmless to memory registered from here on, first of all: call it
// before anything else of this process uses libibverbs.
StatusOr<std::unique_ptr<Verbs>> MakeRealVerbs();

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_REAL_REAL_VERBS_H_
