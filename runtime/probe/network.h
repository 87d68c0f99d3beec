// Probes the network interfaces, those that are down too.
#ifndef REIGEN_RUNTIME_PROBE_NETWORK_H_
#define REIGEN_RUNTIME_PROBE_NETWORK_H_

#include <string>

#include "runtime/probe/facts.h"

namespace reigen::probe {

NetworkFacts ProbeNetwork();

// The same of a tree like /sys ("" for this machine's), without addresses.
std::vector<InterfaceFacts> ReadInterfaces(const std::string& root);

}  // namespace reigen::probe

#endif  // REIGEN_RUNTIME_PROBE_NETWORK_H_
