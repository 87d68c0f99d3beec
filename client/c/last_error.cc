#include "client/c/last_error.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "proto/local/local.h"

namespace reigen::sdk {
namespace {

// The worker's text and some words of our own around it.
constexpr size_t kTextBytes = local::kMaxErrorBytes + 512;
thread_local char text_of_thread[kTextBytes] = {};

}  // namespace

void SetLastError(std::string_view text) {
  const size_t bytes = std::min(text.size(), kTextBytes - 1);
  std::memcpy(text_of_thread, text.data(), bytes);
  text_of_thread[bytes] = '\0';
}

const char* LastError() { return text_of_thread; }

}  // namespace reigen::sdk
