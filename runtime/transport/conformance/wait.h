// How a test's thread drives transports: asleep as a worker's loop is, on event_fd() and
// NextDeadline().
#ifndef REIGEN_RUNTIME_TRANSPORT_CONFORMANCE_WAIT_H_
#define REIGEN_RUNTIME_TRANSPORT_CONFORMANCE_WAIT_H_

#include <vector>

#include "runtime/transport/link.h"

namespace reigen::transport {

// Until one of them has something to do, at most 5 ms. Null: a host that is gone.
void WaitForAny(const std::vector<Transport*>& hosts);

// That, then Progress() of all.
void WaitAndProgress(const std::vector<Transport*>& hosts);

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_CONFORMANCE_WAIT_H_
