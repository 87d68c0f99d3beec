// Addresses of RDMA ports.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_GID_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_GID_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reigen::transport::rdma {

// 128 bits, written as an IPv6 address. A RoCE port has one for each IP address of
// its network interface, IPv4 addresses as ::ffff:a.b.c.d.
struct Gid {
  std::array<uint8_t, 16> bytes{};

  auto operator<=>(const Gid&) const = default;
};

std::string ToString(const Gid& gid);  // "10.0.0.1" or "fe80::1"
bool IsIpv4(const Gid& gid);
bool IsLinkLocal(const Gid& gid);  // fe80::/64 of RoCE and of an unset subnet, 169.254/16
bool IsZero(const Gid& gid);       // an unused entry

// The GID that a RoCE port with this IP address has ("10.0.0.1", "fe80::1%eth0").
std::optional<Gid> GidOfAddress(const std::string& address);
// Those of literal addresses; others are left out.
std::vector<Gid> GidsOfAddresses(const std::vector<std::string>& addresses);

bool IsAmong(const std::vector<Gid>& gids, const Gid& gid);

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_GID_H_
