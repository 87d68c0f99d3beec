#include "client/cuda/testing/fake_knobs.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <vector>

namespace reigen::fake_cuda {
namespace {

std::vector<std::string> SplitAtCommas(const char* text) {
  std::vector<std::string> parts;
  if (text == nullptr || *text == '\0') return parts;
  parts.emplace_back();
  for (; *text != '\0'; ++text) {
    if (*text == ',') {
      parts.emplace_back();
    } else {
      parts.back().push_back(*text);
    }
  }
  return parts;
}

int Number(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

int DeviceCount() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr) return static_cast<int>(SplitAtCommas(visible).size());
  const char* const count = std::getenv("REIGEN_FAKE_CUDA_DEVICES");
  return count != nullptr ? Number(count) : 2;
}

int PhysicalDevice(int ordinal) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const auto numbers = SplitAtCommas(visible);
  const auto index = static_cast<size_t>(ordinal);
  return index < numbers.size() ? Number(numbers[index]) : ordinal;
}

bool HasPeerAccess() { return std::getenv("REIGEN_FAKE_CUDA_NO_PEER") == nullptr; }

bool HasStrictEnd() { return std::getenv("REIGEN_FAKE_CUDA_STRICT_END") != nullptr; }

bool LosesPeer(std::string_view what) {
  const char* const lost = std::getenv("REIGEN_FAKE_CUDA_BROKEN_PEER");
  return lost != nullptr && what == lost;
}

int FailureOf(std::string_view symbol, int calls) {
  const char* const failures = std::getenv("REIGEN_FAKE_CUDA_FAIL");
  for (const std::string& failure : SplitAtCommas(failures)) {
    const size_t equals = failure.find('=');
    if (equals == std::string::npos || symbol != failure.substr(0, equals)) continue;
    const std::string_view code = std::string_view(failure).substr(equals + 1);
    const size_t at = code.find('@');
    const int skipped = at == std::string_view::npos ? 0 : Number(code.substr(at + 1));
    return calls > skipped ? Number(code.substr(0, at)) : 0;
  }
  return 0;
}

}  // namespace reigen::fake_cuda
