#include "runtime/transport/rdma/gid.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace reigen::transport::rdma {
namespace {

constexpr uint8_t kIpv4Prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

std::string ToString(const Gid& gid) {
  char text[INET6_ADDRSTRLEN] = "";
  if (IsIpv4(gid)) {
    inet_ntop(AF_INET, gid.bytes.data() + sizeof kIpv4Prefix, text, sizeof text);
  } else {
    inet_ntop(AF_INET6, gid.bytes.data(), text, sizeof text);
  }
  return text;
}

bool IsIpv4(const Gid& gid) {
  return std::memcmp(gid.bytes.data(), kIpv4Prefix, sizeof kIpv4Prefix) == 0;
}

bool IsLinkLocal(const Gid& gid) {
  if (IsIpv4(gid)) return gid.bytes[12] == 169 && gid.bytes[13] == 254;
  return gid.bytes[0] == 0xfe && (gid.bytes[1] & 0xc0) == 0x80;
}

bool IsZero(const Gid& gid) {
  return std::all_of(gid.bytes.begin(), gid.bytes.end(), [](uint8_t byte) { return byte == 0; });
}

std::optional<Gid> GidOfAddress(const std::string& address) {
  const std::string literal = address.substr(0, address.find('%'));
  Gid gid;
  if (inet_pton(AF_INET6, literal.c_str(), gid.bytes.data()) == 1) return gid;
  std::memcpy(gid.bytes.data(), kIpv4Prefix, sizeof kIpv4Prefix);
  if (inet_pton(AF_INET, literal.c_str(), gid.bytes.data() + sizeof kIpv4Prefix) == 1) return gid;
  return std::nullopt;
}

std::vector<Gid> GidsOfAddresses(const std::vector<std::string>& addresses) {
  std::vector<Gid> gids;
  for (const std::string& address : addresses) {
    if (const std::optional<Gid> gid = GidOfAddress(address)) gids.push_back(*gid);
  }
  return gids;
}

bool IsAmong(const std::vector<Gid>& gids, const Gid& gid) {
  return std::find(gids.begin(), gids.end(), gid) != gids.end();
}

}  // namespace reigen::transport::rdma
