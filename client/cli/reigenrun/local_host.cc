#include "client/cli/reigenrun/local_host.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "runtime/base/status.h"

namespace reigen::run {
namespace {

bool IsAddress(const std::string& text) {
  in6_addr v6;
  in_addr v4;
  return inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &v6) == 1 ||
         inet_pton(AF_INET, text.c_str(), &v4) == 1;
}

bool IsOwnAddress(const std::string& address, const ThisMachine& machine) {
  return machine.addresses.count(address) > 0 || address == "::1" ||
         InNetwork(address, "127.0.0.0/8").value_or(false);
}

}  // namespace

ThisMachine DescribeThisMachine(const std::vector<InterfaceAddress>& interfaces) {
  ThisMachine machine;
  machine.names = {"localhost", "localhost.localdomain"};
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) == 0 && *name != '\0') {
    const std::string full = name;
    machine.names.insert(full);
    machine.names.insert(full.substr(0, full.find('.')));
  }
  for (const InterfaceAddress& a : interfaces) machine.addresses.insert(a.address);
  return machine;
}

std::vector<std::string> ResolveByDns(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (getaddrinfo(name.c_str(), nullptr, &hints, &first) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(first, &freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* a = first; a != nullptr; a = a->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0) {
      addresses.emplace_back(text);
    }
  }
  return addresses;
}

bool IsThisMachine(const std::string& host, const ThisMachine& machine, const Resolve& resolve) {
  // Another user's account is reached by rsh, wherever it is.
  if (host.find('@') != std::string::npos) return false;
  if (machine.names.count(host) > 0) return true;
  const auto own = [&](const std::string& a) { return IsOwnAddress(a, machine); };
  if (IsAddress(host)) return own(host);
  const std::vector<std::string> addresses = resolve(host);
  return !addresses.empty() && std::all_of(addresses.begin(), addresses.end(), own);
}

}  // namespace reigen::run
