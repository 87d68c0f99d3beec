#include "runtime/base/hmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>
#include <string>

#include "runtime/base/check.h"

namespace reigen {

Mac HmacSha256(std::span<const std::byte> key, std::span<const std::byte> data) {
  // OpenSSL takes a null key as "the one of the last call".
  static constexpr std::byte kNothing[1] = {};
  const std::byte* const key_bytes = key.empty() ? kNothing : key.data();
  Mac mac;
  unsigned int mac_bytes = 0;
  const unsigned char* const made =
      HMAC(EVP_sha256(), key_bytes, static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(data.data()), data.size(),
           reinterpret_cast<unsigned char*>(mac.data()), &mac_bytes);
  REIGEN_CHECK(made != nullptr && mac_bytes == kMacBytes, "HMAC-SHA256 of libcrypto");
  return mac;
}

Mac HmacSha256(std::string_view key, std::string_view data) {
  return HmacSha256(std::as_bytes(std::span(key)), std::as_bytes(std::span(data)));
}

std::string RandomBytes(size_t count) {
  std::string bytes(count, '\0');
  size_t have = 0;
  while (have < count) {
    const ssize_t got = getrandom(bytes.data() + have, count - have, 0);
    if (got < 0 && errno == EINTR) continue;
    REIGEN_CHECK(got > 0, "getrandom");
    have += static_cast<size_t>(got);
  }
  return bytes;
}

bool EqualMac(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool EqualMac(const Mac& a, std::string_view b) {
  return EqualMac(std::span<const std::byte>(a), std::as_bytes(std::span(b)));
}

}  // namespace reigen
