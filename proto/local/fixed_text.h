// Texts in records of a fixed size.
#ifndef REIGEN_PROTO_LOCAL_FIXED_TEXT_H_
#define REIGEN_PROTO_LOCAL_FIXED_TEXT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace reigen::local {

// Of a text that is too long for `room` bytes: how many are kept. Only what stands in
// brackets at the end goes, if that is enough; else the words at the end, whole.
inline size_t FittingBytes(std::string_view text, size_t room) {
  if (text.size() <= room) return text.size();
  if (text.back() == ')') {
    const size_t bracket = text.rfind(" (");
    if (bracket != std::string_view::npos && bracket <= room) return bracket;
  }
  const size_t space = text.rfind(' ', room);
  return space == std::string_view::npos ? room : space;
}

// 0-terminated. Returns the bytes before the 0.
inline uint32_t PutText(std::string_view text, std::span<char> field) {
  const size_t bytes = FittingBytes(text, field.size() - 1);
  std::memcpy(field.data(), text.data(), bytes);
  field[bytes] = '\0';
  return static_cast<uint32_t>(bytes);
}

}  // namespace reigen::local

#endif  // REIGEN_PROTO_LOCAL_FIXED_TEXT_H_
