#include <cstdint>
#include <string>

#include "worker/session/intake.h"

namespace reigen::worker {

bool IsUtf8(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    size_t length = 1;
    uint32_t point = lead;
    if (lead >= 0xf0) {
      if (lead > 0xf4) return false;
      length = 4;
      point = lead & 0x07;
    } else if (lead >= 0xe0) {
      length = 3;
      point = lead & 0x0f;
    } else if (lead >= 0xc2) {
      length = 2;
      point = lead & 0x1f;
    } else if (lead >= 0x80) {
      return false;
    }
    if (text.size() - i < length) return false;
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<uint8_t>(text[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      point = (point << 6) | (next & 0x3f);
    }
    const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    if (overlong || surrogate || point > 0x10ffff) return false;
    i += length;
  }
  return true;
}

}  // namespace reigen::worker
