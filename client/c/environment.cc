#include "client/c/environment.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string>
#include <string_view>

namespace reigen::sdk {

Result ReadEnvironment(SessionOptions* out) {
  *out = SessionOptions();
  const char* socket_path = std::getenv("REIGEN_SOCKET");
  if (socket_path == nullptr || *socket_path == '\0') return Ok();
  out->socket_path = socket_path;

  const char* rank = std::getenv("REIGEN_RANK");
  if (rank == nullptr) return Invalid("REIGEN_SOCKET is set, REIGEN_RANK is not");
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(rank, &end, 10);
  if (*rank == '\0' || *end != '\0' || errno != 0 || number < 0 || number > INT_MAX) {
    return Invalid("REIGEN_RANK is no rank: " + std::string(rank));
  }
  out->rank = static_cast<int32_t>(number);

  const char* scale = std::getenv("REIGEN_TIMEOUT_SCALE");
  if (scale == nullptr || *scale == '\0') return Ok();
  out->timeout_scale = std::strtod(scale, &end);
  if (*end != '\0' || !(out->timeout_scale > 0.0) || out->timeout_scale > 1e6) {
    return Invalid("REIGEN_TIMEOUT_SCALE is no positive number: " + std::string(scale));
  }
  return Ok();
}

Result ReadCudaKernelsOff(bool* out) {
  const char* const value = std::getenv("REIGEN_CUDA_KERNELS");
  const std::string_view text = value != nullptr ? value : "";
  *out = text == "off";
  if (text.empty() || text == "on" || text == "off") return Ok();
  return Invalid("REIGEN_CUDA_KERNELS is neither on nor off: " + std::string(text));
}

Result ReadCudaArenaLimit(std::optional<uint64_t>* out) {
  out->reset();
  const char* const text = std::getenv("REIGEN_CUDA_ARENA_MB");
  if (text == nullptr || *text == '\0') return Ok();
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(text, &end, 10);
  constexpr long long kMostMiB = 1LL << 24;  // more than a GPU has
  if (*end != '\0' || errno != 0 || number < 0 || number > kMostMiB) {
    return Invalid("REIGEN_CUDA_ARENA_MB is no number of MiB from 0 to " + std::to_string(kMostMiB) +
                   ": " + std::string(text));
  }
  *out = static_cast<uint64_t>(number) << 20;
  return Ok();
}

}  // namespace reigen::sdk
