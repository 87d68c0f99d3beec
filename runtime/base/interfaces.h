// The addresses of this machine's network interfaces, and which of them may carry
// a job's traffic between hosts. The choice is pure: tests give it their own lists.
#ifndef REIGEN_RUNTIME_BASE_INTERFACES_H_
#define REIGEN_RUNTIME_BASE_INTERFACES_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace reigen {

struct InterfaceAddress {
  std::string interface;  // "eth0"
  std::string address;    // "10.0.0.1", "fd00::1", "fe80::1%eth0"
  bool up = true;
  bool loopback = false;
  bool bridge_port = false;  // a leg of a bridge on this machine (veth host ends)
};

// Of the interfaces that are up, in the kernel's order; no address twice.
StatusOr<std::vector<InterfaceAddress>> ListInterfaceAddresses();

struct ChosenAddresses {
  std::vector<std::string> addresses;
  std::string reason;  // which were taken and which not, and why; for the log
};

// Candidates for traffic between hosts, in order: link-local ones only if there is
// nothing else. Without `networks`: neither loopback nor what container engines and
// virtual machines make (docker*, br-*, virbr*, veth*, legs of bridges). With
// `networks` (interface names or CIDRs): exactly what matches one of them, loopback
// too; nothing that matches is NotFound and names `host` and the networks.
StatusOr<ChosenAddresses> ChooseAddresses(const std::vector<InterfaceAddress>& all,
                                          const std::vector<std::string>& networks,
                                          const std::string& host);

// Whether `address` lies in `cidr` ("10.0.0.0/8", "fd00::/16"). A malformed cidr is
// InvalidArgument; another family is no match.
StatusOr<bool> InNetwork(const std::string& address, const std::string& cidr);

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_INTERFACES_H_
