#include "runtime/base/epoch_text.h"

#include <cstdint>

namespace reigen {

std::string EpochText(Epoch epoch) {
  return std::to_string(epoch >> 32) + "." + std::to_string(static_cast<uint32_t>(epoch));
}

}  // namespace reigen
