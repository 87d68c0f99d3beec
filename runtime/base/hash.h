// FNV-1a, 64 bits. Fixes where a tensor's chains begin (R2): never change it.
#ifndef REIGEN_RUNTIME_BASE_HASH_H_
#define REIGEN_RUNTIME_BASE_HASH_H_

#include <cstdint>
#include <string_view>

namespace reigen {

constexpr uint64_t NameHash(std::string_view name) {
  uint64_t hash = 14695981039346656037ull;
  for (char c : name) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 1099511628211ull;
  }
  return hash;
}

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_HASH_H_
