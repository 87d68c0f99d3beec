#include "client/c/arena_check.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "runtime/base/clock.h"
#include "runtime/base/hash.h"

namespace reigen::sdk {
namespace {

constexpr size_t kLineBytes = 64;
constexpr uint64_t kLines = kArenaCheckBytes / kLineBytes;

using Line = std::array<std::byte, kLineBytes>;

// No word of it is 0, or as likely to be there by chance.
Line LineOf(std::span<const uint8_t> handle, uint64_t seed) {
  const std::string_view text(reinterpret_cast<const char*>(handle.data()), handle.size());
  uint64_t word = NameHash(text) ^ seed;
  Line line;
  for (size_t at = 0; at < line.size(); at += sizeof word) {
    word = (word | 1) * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(&line[at], &word, sizeof word);
  }
  return line;
}

Result Compare(cuda::Device& device, cuda::CuAddress at, const Line& expected,
               const char* what, const std::string& peer_gpu) {
  Line seen{};
  REIGEN_SDK_RETURN_IF_ERROR(device.Peek(at, seen));
  if (seen == expected) return Ok();
  return Fail(REIGEN_UNAVAILABLE,
              "GPU " + device.facts().bus_id + " " + what + " memory of GPU " + peer_gpu +
                  " wrongly, though CUDA allows it: see to the host's IOMMU (iommu=pt) and "
                  "to ACS of its PCIe bridges");
}

}  // namespace

Result WriteArenaCheck(cuda::Device& device, cuda::CuAddress check,
                       std::span<const uint8_t> handle) {
  return device.Poke(check, LineOf(handle, 0));
}

Result CheckPeerArena(cuda::Device& device, cuda::CuAddress check, const PeerCheck& peer) {
  REIGEN_SDK_RETURN_IF_ERROR(
      Compare(device, check, LineOf(peer.handle, 0), "reads", peer.peer_gpu));
  const uint64_t line = 1 + uint64_t{peer.own_local_rank};
  if (line >= kLines) return Ok();
  // Memory that was opened before has the line of that time.
  const auto now = static_cast<uint64_t>(Now().time_since_epoch().count());
  const Line own = LineOf(peer.handle, now);
  const cuda::CuAddress at = check + line * kLineBytes;
  REIGEN_SDK_RETURN_IF_ERROR(device.Poke(at, own));
  return Compare(device, at, own, "writes", peer.peer_gpu);
}

}  // namespace reigen::sdk
