// HMAC-SHA256, random bytes and a comparison that takes equal time: what the
// challenge-response on links and control streams is made of (OpenSSL).
//
// Threads: any.
#ifndef REIGEN_RUNTIME_BASE_HMAC_H_
#define REIGEN_RUNTIME_BASE_HMAC_H_

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace reigen {

inline constexpr size_t kMacBytes = 32;
using Mac = std::array<std::byte, kMacBytes>;

Mac HmacSha256(std::span<const std::byte> key, std::span<const std::byte> data);

// The same for strings, which is how protobuf carries bytes.
Mac HmacSha256(std::string_view key, std::string_view data);

// From the kernel; ends the process when it has none to give.
std::string RandomBytes(size_t count);

// Takes as long for a wrong first byte as for a wrong last one. Different lengths
// are unequal.
bool EqualMac(std::span<const std::byte> a, std::span<const std::byte> b);
bool EqualMac(const Mac& a, std::string_view b);

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_HMAC_H_
