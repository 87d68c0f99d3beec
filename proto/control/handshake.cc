#include "proto/control/handshake.h"

#include "runtime/base/hmac.h"

namespace reigen::control {
namespace {

// Every part with its length before it: no two different inputs look alike.
void AppendPart(std::string& out, std::string_view part) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>((part.size() >> (8 * i)) & 0xff));
  out.append(part);
}

std::string MacOver(std::string_view secret, std::string_view side, std::string_view role,
                    int32_t host, std::string_view client_nonce,
                    std::string_view coordinator_nonce) {
  std::string data;
  AppendPart(data, "reigen control");
  AppendPart(data, side);
  AppendPart(data, role);
  AppendPart(data, std::to_string(host));
  AppendPart(data, client_nonce);
  AppendPart(data, coordinator_nonce);
  const Mac mac = HmacSha256(secret, data);
  return std::string(reinterpret_cast<const char*>(mac.data()), mac.size());
}

}  // namespace

std::string MakeNonce() { return RandomBytes(kNonceBytes); }

std::string CoordinatorMac(std::string_view secret, std::string_view role, int32_t host,
                           std::string_view client_nonce, std::string_view coordinator_nonce) {
  return MacOver(secret, "coordinator", role, host, client_nonce, coordinator_nonce);
}

std::string ClientMac(std::string_view secret, std::string_view role, int32_t host,
                      std::string_view client_nonce, std::string_view coordinator_nonce) {
  return MacOver(secret, "client", role, host, client_nonce, coordinator_nonce);
}

bool SameMac(std::string_view a, std::string_view b) {
  return EqualMac(std::as_bytes(std::span(a.data(), a.size())),
                  std::as_bytes(std::span(b.data(), b.size())));
}

}  // namespace reigen::control
