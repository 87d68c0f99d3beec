// Probes the RDMA devices: what the kernel has, what libibverbs makes of it.
#ifndef REIGEN_RUNTIME_PROBE_RDMA_H_
#define REIGEN_RUNTIME_PROBE_RDMA_H_

#include <string>

#include "runtime/base/status.h"
#include "runtime/probe/facts.h"
#include "runtime/transport/rdma/verbs.h"

namespace reigen::probe {

// `root` is "" for this machine's /sys and /dev. Devices are opened, asked and closed;
// no memory is registered. `verbs` may be an error: what the library said.
RdmaFacts ProbeRdma(const std::string& root,
                    const StatusOr<std::unique_ptr<transport::rdma::Verbs>>& verbs);

}  // namespace reigen::probe

#endif  // REIGEN_RUNTIME_PROBE_RDMA_H_
