// Which hosts of the list are this machine: they are started without rsh.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_LOCAL_HOST_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_LOCAL_HOST_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/interfaces.h"

namespace reigen::run {

struct ThisMachine {
  std::set<std::string> names;
  std::set<std::string> addresses;
};
ThisMachine DescribeThisMachine(const std::vector<InterfaceAddress>& interfaces);

// Addresses of a name; empty: unknown.
using Resolve = std::function<std::vector<std::string>(const std::string& name)>;
std::vector<std::string> ResolveByDns(const std::string& name);

// By name, by address (all of 127/8 too), or because the name resolves to addresses
// of this machine only.
bool IsThisMachine(const std::string& host, const ThisMachine& machine, const Resolve& resolve);

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_LOCAL_HOST_H_
