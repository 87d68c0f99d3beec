// Texts in records of a fixed size.
#ifndef REIGEN_CLIENT_C_FIXED_TEXT_H_
#define REIGEN_CLIENT_C_FIXED_TEXT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace reigen::sdk {

// 0-terminated, and cut; if that saves the rest, only of what stands in brackets at the end.
// Returns the bytes before the 0.
template <size_t kBytes>
uint32_t PutText(const std::string& text, char (&out)[kBytes]) {
  size_t bytes = std::min(text.size(), kBytes - 1);
  if (bytes < text.size() && text.back() == ')') {
    const size_t bracket = text.rfind(" (");
    if (bracket != std::string::npos) bytes = std::min(bytes, bracket);
  }
  std::memcpy(out, text.data(), bytes);
  out[bytes] = '\0';
  return static_cast<uint32_t>(bytes);
}

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_FIXED_TEXT_H_
