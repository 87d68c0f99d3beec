#include "runtime/transport/tcp/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

namespace reigen::transport {
namespace {

sockaddr_in& V4(SocketAddress& a) { return reinterpret_cast<sockaddr_in&>(a.storage); }
sockaddr_in6& V6(SocketAddress& a) { return reinterpret_cast<sockaddr_in6&>(a.storage); }
const sockaddr_in& V4(const SocketAddress& a) {
  return reinterpret_cast<const sockaddr_in&>(a.storage);
}
const sockaddr_in6& V6(const SocketAddress& a) {
  return reinterpret_cast<const sockaddr_in6&>(a.storage);
}

using NameOf = int (*)(int, sockaddr*, socklen_t*);

std::string Name(int fd, NameOf name_of) {
  SocketAddress address;
  address.bytes = sizeof address.storage;
  if (name_of(fd, address.get(), &address.bytes) != 0) return "?";
  return Format(address);
}

}  // namespace

uint16_t SocketAddress::port() const {
  return ntohs(family() == AF_INET6 ? V6(*this).sin6_port : V4(*this).sin_port);
}

void SocketAddress::set_port(uint16_t port) {
  (family() == AF_INET6 ? V6(*this).sin6_port : V4(*this).sin_port) = htons(port);
}

StatusOr<SocketAddress> ParseAddress(const std::string& text) {
  SocketAddress address;
  if (inet_pton(AF_INET, text.c_str(), &V4(address).sin_addr) == 1) {
    address.storage.ss_family = AF_INET;
    address.bytes = sizeof(sockaddr_in);
    return address;
  }
  const size_t percent = text.find('%');
  const std::string digits = text.substr(0, percent);
  if (inet_pton(AF_INET6, digits.c_str(), &V6(address).sin6_addr) != 1) {
    return InvalidArgument("'" + text + "' is not an IPv4 or IPv6 address");
  }
  address.storage.ss_family = AF_INET6;
  address.bytes = sizeof(sockaddr_in6);
  if (percent != std::string::npos) {
    const std::string scope = text.substr(percent + 1);
    const unsigned int index = if_nametoindex(scope.c_str());
    if (index == 0) return InvalidArgument("'" + text + "': no interface '" + scope + "' here");
    V6(address).sin6_scope_id = index;
  }
  return address;
}

bool HasScheme(const std::string& endpoint, const std::string& scheme) {
  return endpoint.rfind(scheme + ":", 0) == 0;
}

StatusOr<SocketAddress> ParseEndpoint(const std::string& text, const std::string& scheme) {
  const Status bad =
      InvalidArgument("'" + text + "' is not of the form " + scheme + ":ADDRESS:PORT");
  const size_t begin = scheme.size() + 1;
  const size_t colon = text.rfind(':');
  if (!HasScheme(text, scheme) || colon <= begin) return bad;
  std::string host = text.substr(begin, colon - begin);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);

  const char* const end = text.data() + text.size();
  uint16_t port = 0;
  const auto parsed = std::from_chars(text.data() + colon + 1, end, port);
  if (parsed.ec != std::errc() || parsed.ptr != end || port == 0) return bad;
  REIGEN_ASSIGN_OR_RETURN(SocketAddress address, ParseAddress(host));
  if (bracketed != (address.family() == AF_INET6)) return bad;
  address.set_port(port);
  return address;
}

std::string Format(const SocketAddress& address) {
  char digits[INET6_ADDRSTRLEN] = "?";
  const std::string port = ":" + std::to_string(address.port());
  if (address.family() == AF_INET) {
    inet_ntop(AF_INET, &V4(address).sin_addr, digits, sizeof digits);
    return digits + port;
  }
  inet_ntop(AF_INET6, &V6(address).sin6_addr, digits, sizeof digits);
  std::string text = std::string("[") + digits;
  char interface[IF_NAMESIZE];
  const uint32_t scope = V6(address).sin6_scope_id;
  if (scope != 0 && if_indextoname(scope, interface) != nullptr) {
    text += std::string("%") + interface;
  }
  return text + "]" + port;
}

std::string LocalName(int fd) { return Name(fd, getsockname); }

std::string PeerName(int fd) { return Name(fd, getpeername); }

}  // namespace reigen::transport
