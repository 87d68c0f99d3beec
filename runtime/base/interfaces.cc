#include "runtime/base/interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

namespace reigen {
namespace {

// An address as bytes: 4 or 16.
using Bytes = std::vector<unsigned char>;

std::string WithoutZone(const std::string& address) {
  return address.substr(0, address.find('%'));
}

std::optional<Bytes> ParseAddress(const std::string& address) {
  const std::string plain = WithoutZone(address);
  Bytes bytes(16);
  if (inet_pton(AF_INET6, plain.c_str(), bytes.data()) == 1) return bytes;
  bytes.resize(4);
  if (inet_pton(AF_INET, plain.c_str(), bytes.data()) == 1) return bytes;
  return std::nullopt;
}

bool IsLinkLocal(const std::string& address) {
  return address.starts_with("169.254.") || InNetwork(address, "fe80::/10").value_or(false);
}

// Made by container engines or virtual machines, with addresses that mean another
// machine elsewhere.
bool IsVirtual(const InterfaceAddress& a) {
  for (const char* head : {"docker", "br-", "virbr", "veth", "cni", "podman", "lxcbr"}) {
    if (a.interface.starts_with(head)) return true;
  }
  return a.bridge_port;
}

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += (text.empty() ? "" : ", ") + w;
  return text.empty() ? "none" : text;
}

std::string Describe(const InterfaceAddress& a) { return a.interface + " " + a.address; }

std::string TextOf(const sockaddr* address, const char* interface) {
  char text[INET6_ADDRSTRLEN];
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text) ? text : "";
  }
  if (address->sa_family != AF_INET6) return "";
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  if (inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text) == nullptr) return "";
  return IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) ? std::string(text) + "%" + interface : text;
}

StatusOr<bool> Matches(const InterfaceAddress& a, const std::string& network) {
  if (network.find('/') == std::string::npos) return a.interface == network;
  return InNetwork(a.address, network);
}

}  // namespace

StatusOr<bool> InNetwork(const std::string& address, const std::string& cidr) {
  const size_t slash = cidr.find('/');
  const std::optional<Bytes> network = ParseAddress(cidr.substr(0, slash));
  size_t bits = 0;
  const char* end = cidr.data() + cidr.size();
  const bool parsed =
      network && slash != std::string::npos &&
      std::from_chars(cidr.data() + slash + 1, end, bits).ptr == end && slash + 1 < cidr.size();
  if (!parsed || bits > network->size() * 8) {
    return InvalidArgument("\"" + cidr + "\" is not a network such as 10.0.0.0/8 or fd00::/16");
  }
  const std::optional<Bytes> bytes = ParseAddress(address);
  if (!bytes || bytes->size() != network->size()) return false;
  for (size_t i = 0; i < bits; ++i) {
    const int mask = 0x80 >> (i % 8);
    if (((*bytes)[i / 8] ^ (*network)[i / 8]) & mask) return false;
  }
  return true;
}

StatusOr<std::vector<InterfaceAddress>> ListInterfaceAddresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return ErrnoStatus(StatusCode::kInternal, "getifaddrs");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, &freeifaddrs);
  std::vector<InterfaceAddress> all;
  for (const ifaddrs* i = first; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || !(i->ifa_flags & IFF_UP)) continue;
    InterfaceAddress a{.interface = i->ifa_name, .address = TextOf(i->ifa_addr, i->ifa_name)};
    if (a.address.empty()) continue;
    a.loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
    const std::string port = "/sys/class/net/" + a.interface + "/brport";
    a.bridge_port = access(port.c_str(), F_OK) == 0;
    const auto same = [&](const InterfaceAddress& b) { return b.address == a.address; };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(a);
  }
  return all;
}

StatusOr<ChosenAddresses> ChooseAddresses(const std::vector<InterfaceAddress>& all,
                                          const std::vector<std::string>& networks,
                                          const std::string& host) {
  std::vector<std::string> wide, link_local, taken, left;
  for (const InterfaceAddress& a : all) {
    if (!a.up) continue;
    bool fits = networks.empty() && !a.loopback && !IsVirtual(a);
    for (const std::string& network : networks) {
      REIGEN_ASSIGN_OR_RETURN(const bool match, Matches(a, network));
      fits = fits || match;
    }
    if (!fits) {
      left.push_back(Describe(a));
      continue;
    }
    taken.push_back(Describe(a));
    (IsLinkLocal(a.address) ? link_local : wide).push_back(a.address);
  }
  ChosenAddresses chosen{wide.empty() ? link_local : wide, ""};
  if (chosen.addresses.empty()) {
    return NotFound("host " + host + ": " +
                    (networks.empty() ? "no network interface is up that can reach other hosts"
                                      : "no interface matches " + Join(networks)) +
                    " (there are: " + Join(left) + ")");
  }
  chosen.reason = (networks.empty() ? "neither loopback nor of containers: " : "as configured: ") +
                  Join(taken) + "; not: " + Join(left) +
                  (wide.empty() || link_local.empty() ? "" : "; link-local ones are not needed");
  return chosen;
}

}  // namespace reigen
