// What the conformance suite, and other tests, run links over.
#ifndef REIGEN_RUNTIME_TRANSPORT_CONFORMANCE_FABRIC_H_
#define REIGEN_RUNTIME_TRANSPORT_CONFORMANCE_FABRIC_H_

#include "runtime/transport/link.h"

namespace reigen::transport {

// Hosts 0 and 1 over one transport, driven by the test's thread.
class Fabric {
 public:
  virtual ~Fabric() = default;
  virtual Transport& transport(int host) = 0;
  virtual Peer peer(int host) = 0;  // how the other one reaches `host`
  // Waits a little for events, in the transport's own time; Progress() of both.
  virtual void Step() = 0;
  // The host's process ends without a word.
  virtual void KillHost(int host) = 0;
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_CONFORMANCE_FABRIC_H_
